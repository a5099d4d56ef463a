/** Runs as a virtual list: a table on a wide page, cards on a narrow one. */
import { Link, useNavigate } from '@tanstack/react-router'
import { useVirtualizer } from '@tanstack/react-virtual'
import { type Dispatch, memo, type SetStateAction, useCallback, useEffect, useRef, useState } from 'react'

import { retryRun, useAct } from '@/api/actions'
import { failureOf, outcomeOf, type Run } from '@/api/types'
import { plainNode } from '@/graph/names'
import { useT } from '@/i18n'
import { Span, Time } from '@/parts/clock'
import { Status } from '@/parts/status'
import { useKeys } from '@/shell/keys'

interface Props {
  runs: readonly Run[]
  chosen: ReadonlySet<string>
  onChoose: Dispatch<SetStateAction<ReadonlySet<string>>>
  more?: () => void
}

const GRID =
  'grid grid-cols-[1.75rem_6.5rem_minmax(0,1fr)] items-center gap-x-2 md:grid-cols-[1.75rem_6.5rem_minmax(6rem,1fr)_3.75rem_9rem_4.5rem_minmax(7rem,1.6fr)]'

export function RunList({ runs, chosen, onChoose, more }: Props) {
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
        <span role="columnheader">{t('Status')}</span>
        <span role="columnheader">{t('Flow')}</span>
        {[t('Run'), t('Started'), t('Duration'), t('Now, or why it failed')].map((head) => (
          <span key={head} role="columnheader" className="hidden truncate md:block">
            {head}
          </span>
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
              <Cells run={run} chosen={chosen.has(run.id)} onToggle={toggle} />
            </div>
          )
        })}
      </div>
    </div>
  )
}

interface CellsProps {
  run: Run
  chosen: boolean
  onToggle: (id: string) => void
}

const Cells = memo(function Cells({ run, chosen, onToggle }: CellsProps) {
  const t = useT()
  const failure = failureOf(run.error)
  const now = failure ? `${plainNode(failure.node) ? `${failure.node}: ` : ''}${failure.message}` : plainNode(run.node)
  return (
    <>
      <span role="cell">
        <input
          type="checkbox"
          className="block size-4"
          aria-label={t('Select {id}', { id: run.id })}
          checked={chosen}
          onChange={() => onToggle(run.id)}
        />
      </span>
      <span role="cell">
        <Status state={outcomeOf(run)} />
      </span>
      <span role="cell" className="min-w-0 truncate">
        <Link to="/runs/$id" params={{ id: run.id }} className="font-medium hover:text-accent hover:underline" title={run.id}>
          {run.flow}
        </Link>
        <span className="block truncate text-xs text-soft md:hidden">
          {run.id.slice(-6)} · <Time at={run.createdAt} /> · <Span from={run.createdAt} to={run.finishedAt} />
        </span>
      </span>
      <span role="cell" className="hidden font-mono text-xs text-soft md:block" title={run.id}>
        {run.id.slice(-6)}
      </span>
      <span role="cell" className="hidden md:block">
        <Time at={run.createdAt} />
      </span>
      <span role="cell" className="hidden md:block">
        <Span from={run.createdAt} to={run.finishedAt} />
      </span>
      <span role="cell" className={`hidden truncate md:block ${failure ? 'text-bad' : 'text-soft'}`} title={now}>
        {now}
      </span>
    </>
  )
})
