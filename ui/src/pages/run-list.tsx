/** Runs as a virtual list: a table on a wide page, cards on a narrow one. */
import { Link, useNavigate } from '@tanstack/react-router'
import { useVirtualizer } from '@tanstack/react-virtual'
import { type CSSProperties, type Dispatch, memo, type SetStateAction, useCallback, useEffect, useRef, useState } from 'react'

import { retryRun, useAct } from '@/api/actions'
import { failureOf, outcomeOf, type Run } from '@/api/types'
import { plainNode } from '@/graph/names'
import { useT } from '@/i18n'
import { Span, Time } from '@/parts/clock'
import { Icon } from '@/parts/icons'
import { Status } from '@/parts/status'
import { cellText, type Column, HEADS, isSortable, nextSort, tracks } from '@/runs/columns'
import { useKeys } from '@/shell/keys'

interface Props {
  runs: readonly Run[]
  chosen: ReadonlySet<string>
  onChoose: Dispatch<SetStateAction<ReadonlySet<string>>>
  columns: readonly Column[]
  sort: string
  onSort: (sort: string) => void
  more?: () => void
}

const GRID = 'grid grid-cols-[1.75rem_6.5rem_minmax(0,1fr)] items-center gap-x-2 md:grid-cols-(--tracks)'

export function RunList({ runs, chosen, onChoose, columns, sort, onSort, more }: Props) {
  const t = useT()
  const navigate = useNavigate()
  const act = useAct()
  const box = useRef<HTMLDivElement>(null)
  const [at, setAt] = useState(-1)
  const rows = useVirtualizer({
    count: runs.length,
    getScrollElement: () => box.current,
    estimateSize: () => (innerWidth < 768 ? 56 : 32),
    overscan: 12,
  })
  const items = rows.getVirtualItems()
  const last = items.at(-1)?.index ?? 0
  useEffect(() => {
    if (more && last >= runs.length - 20) more()
  }, [last, more, runs.length])
  // Rows are drawn again only when they change, so what they call must not remember an older choice.
  const toggle = useCallback(
    (id: string) =>
      onChoose((old) => {
        const next = new Set(old)
        if (!next.delete(id)) next.add(id)
        return next
      }),
    [onChoose],
  )
  const move = (step: number) => {
    const next = Math.min(runs.length - 1, Math.max(0, at + step))
    setAt(next)
    rows.scrollToIndex(next)
  }
  const current = runs[at]
  useKeys({
    j: () => move(1),
    k: () => move(-1),
    x: () => current && toggle(current.id),
    r: () => current && void act(retryRun(current.id), t('Retry started')),
    Enter: () => current && void navigate({ to: '/runs/$id', params: { id: current.id } }),
    '.': () => {
      const next = runs.findIndex((run, place) => place > at && run.state === 'failed')
      if (next >= 0) move(next - at)
    },
  })
  const all = chosen.size > 0 && chosen.size === runs.length
  return (
    <div
      ref={box}
      role="table"
      tabIndex={0}
      aria-label={t('Runs')}
      aria-rowcount={runs.length + 1}
      style={{ '--tracks': tracks(columns) } as CSSProperties}
      className="min-h-0 flex-1 overflow-auto rounded-lg border border-line bg-panel"
    >
      <div role="row" className={`${GRID} sticky top-0 z-10 border-b border-line bg-panel h-8 px-3 text-xs font-medium text-soft`}>
        <span role="columnheader">
          <input
            type="checkbox"
            className="block size-4"
            aria-label={t('Select all shown')}
            checked={all}
            onChange={() => onChoose(new Set(all ? [] : runs.map((run) => run.id)))}
          />
        </span>
        <Head name="status" text={t('Status')} sort={sort} onSort={onSort} />
        <Head name="flow" text={t('Flow')} sort={sort} onSort={onSort} />
        {columns.map((column) => (
          <Head key={column} name={column} text={t(HEADS[column])} sort={sort} onSort={onSort} wide />
        ))}
      </div>
      <div role="rowgroup" className="relative" style={{ height: rows.getTotalSize() }}>
        {items.map((item) => {
          const run = runs[item.index] as Run
          return (
            <div
              key={run.id}
              role="row"
              aria-rowindex={item.index + 2}
              aria-selected={chosen.has(run.id)}
              data-run={run.id}
              className={`${GRID} absolute top-0 left-0 w-full border-b border-line px-3 text-sm transition-colors ${
                item.index === at ? 'bg-accent-soft' : 'hover:bg-sunk'
              }`}
              style={{ height: item.size, transform: `translateY(${item.start}px)` }}
            >
              <Cells run={run} chosen={chosen.has(run.id)} columns={columns} onToggle={toggle} />
            </div>
          )
        })}
      </div>
    </div>
  )
}

interface HeadProps {
  name: string
  text: string
  sort: string
  onSort: (sort: string) => void
  wide?: boolean
}

/** A heading; a press sorts by it, another turns the order round, a third leaves it to the server. */
function Head({ name, text, sort, onSort, wide = false }: HeadProps) {
  const t = useT()
  const look = wide ? 'hidden truncate md:block' : 'truncate'
  if (!isSortable(name)) {
    return (
      <span role="columnheader" className={look}>
        {text}
      </span>
    )
  }
  const way = sort === name ? 'ascending' : sort === `-${name}` ? 'descending' : 'none'
  return (
    <span role="columnheader" aria-sort={way} className={look}>
      <button type="button" title={t('Sorted among those shown')} className="inline-flex max-w-full items-center gap-1 hover:text-text" onClick={() => onSort(nextSort(sort, name))}>
        <span className="truncate">{text}</span>
        {way !== 'none' && <Icon name={way === 'ascending' ? 'up' : 'down'} size={12} />}
      </button>
    </span>
  )
}

interface CellsProps {
  run: Run
  chosen: boolean
  columns: readonly Column[]
  onToggle: (id: string) => void
}

const Cells = memo(function Cells({ run, chosen, columns, onToggle }: CellsProps) {
  const t = useT()
  return (
    <>
      <span role="cell">
        <input type="checkbox" className="block size-4" aria-label={t('Select {id}', { id: run.id })} checked={chosen} onChange={() => onToggle(run.id)} />
      </span>
      <span role="cell">
        <Status state={outcomeOf(run)} />
      </span>
      <span role="cell" className="min-w-0 truncate">
        <Link to="/runs/$id" params={{ id: run.id }} className="font-medium hover:text-accent hover:underline" title={run.id}>
          {run.flow}
        </Link>
        {run.goal && (
          <span title={run.goal} className="ml-2 text-soft">
            {run.goal}
          </span>
        )}
        <span className="block truncate text-xs text-soft md:hidden">
          {run.id.slice(-6)} · <Time at={run.createdAt} /> · <Span from={run.createdAt} to={run.finishedAt} />
        </span>
      </span>
      {columns.map((column) => (
        <Cell key={column} run={run} column={column} />
      ))}
    </>
  )
})

function Cell({ run, column }: { run: Run; column: Column }) {
  switch (column) {
    case 'run':
      return (
        <span role="cell" className="hidden font-mono text-xs text-soft md:block" title={run.id}>
          {run.id.slice(-6)}
        </span>
      )
    case 'started':
      return (
        <span role="cell" className="hidden md:block">
          <Time at={run.createdAt} />
        </span>
      )
    case 'duration':
      return (
        <span role="cell" className="hidden md:block">
          <Span from={run.createdAt} to={run.finishedAt} />
        </span>
      )
    case 'now':
      return <Now run={run} />
    default:
      return (
        <span role="cell" className="hidden truncate text-soft tabular-nums md:block" title={cellText(run, column)}>
          {cellText(run, column)}
        </span>
      )
  }
}

function Now({ run }: { run: Run }) {
  const failure = failureOf(run.error)
  const at = plainNode(failure?.node)
  const now = failure ? `${at && `${at}: `}${failure.message}` : plainNode(run.node)
  return (
    <span role="cell" className={`hidden truncate md:block ${failure ? 'text-bad' : 'text-soft'}`} title={now}>
      {now}
    </span>
  )
}
