/** The tasks as a tree table: the view for keyboards, screen readers and narrow pages. */
import { getRouteApi } from '@tanstack/react-router'
import { useVirtualizer } from '@tanstack/react-virtual'
import { useMemo, useRef, useState } from 'react'

import { errorNow } from '@/api/types'
import { foldedText } from '@/graph/overlay'
import { useT } from '@/i18n'
import type { RunModel } from '@/live/model'
import { FIELD } from '@/parts/basics'
import { Span } from '@/parts/clock'
import { Status } from '@/parts/status'
import { Icon } from '@/parts/icons'
import { useKeys } from '@/shell/keys'

import { useNames } from './names'
import { shortName, type TreeRow, treeRows } from './tree'

const route = getRouteApi('/runs/$id')
const GRID = 'grid grid-cols-[minmax(0,1fr)_7rem_4rem] gap-x-2 px-2 md:grid-cols-[minmax(10rem,1fr)_8rem_5rem_4rem_minmax(0,1fr)]'

interface Props {
  model: RunModel
  find: string
  selected?: string
  onSelect: (task: string | undefined) => void
}

export function ListView({ model, find, selected, onSelect }: Props) {
  const t = useT()
  const navigate = route.useNavigate()
  const box = useRef<HTMLDivElement>(null)
  const input = useRef<HTMLInputElement>(null)
  const [open, setOpen] = useState<ReadonlySet<string>>(() => smallContainers(model))
  const names = useNames()
  const rows = useMemo(() => treeRows(model, open, find, names), [model, open, find, names])
  const list = useVirtualizer({
    count: rows.length,
    getScrollElement: () => box.current,
    estimateSize: () => 32,
    overscan: 15,
  })
  const toggle = (id: string) => {
    const next = new Set(open)
    if (!next.delete(id)) next.add(id)
    setOpen(next)
  }
  const at = rows.findIndex((row) => row.task.id === selected)
  const move = (step: number) => {
    const next = Math.min(rows.length - 1, Math.max(0, at + step))
    onSelect(rows[next]?.task.id)
    list.scrollToIndex(next)
  }
  useKeys({ j: () => move(1), k: () => move(-1), '/': () => input.current?.focus() })
  const onKeyDown = (event: React.KeyboardEvent) => {
    const row = rows[at]
    if (event.key === 'ArrowDown') move(1)
    else if (event.key === 'ArrowUp') move(-1)
    else if (row?.children && event.key === 'ArrowRight' && !open.has(row.task.id)) toggle(row.task.id)
    else if (row?.children && event.key === 'ArrowLeft' && open.has(row.task.id)) toggle(row.task.id)
    else return
    event.preventDefault()
  }
  return (
    <>
      <div className="border-b border-line p-2">
        <input
          ref={input}
          type="search"
          aria-label={t('Find a task')}
          placeholder={t('Find a task')}
          value={find}
          onChange={(event) => void navigate({ search: (old) => ({ ...old, find: event.target.value || undefined }), replace: true })}
          className={`${FIELD} w-full`}
        />
      </div>
      <div ref={box} className="min-h-0 flex-1 overflow-auto" role="treegrid" aria-label={t('Tasks')} tabIndex={0} onKeyDown={onKeyDown} aria-rowcount={rows.length + 1}>
        <div role="row" className={`${GRID} sticky top-0 z-10 border-b border-line bg-panel py-1.5 text-xs font-semibold text-soft`}>
          <span role="columnheader">{t('Task')}</span>
          <span role="columnheader">{t('Status')}</span>
          <span role="columnheader">{t('Duration')}</span>
          <span role="columnheader" className="hidden md:block">
            {t('Attempts')}
          </span>
          <span role="columnheader" className="hidden md:block">
            {t('Detail')}
          </span>
        </div>
        <div role="rowgroup" className="relative" style={{ height: list.getTotalSize() }}>
          {list.getVirtualItems().map((item) => {
            const row = rows[item.index] as TreeRow
            const chosen = row.task.id === selected
            return (
              <div
                key={row.task.id}
                role="row"
                aria-level={row.depth + 1}
                aria-selected={chosen}
                aria-expanded={row.children ? open.has(row.task.id) : undefined}
                aria-rowindex={item.index + 2}
                onClick={() => onSelect(row.task.id)}
                className={`${GRID} absolute top-0 left-0 w-full cursor-pointer items-center border-b border-line text-sm ${chosen ? 'bg-accent-soft' : 'hover:bg-sunk'}`}
                style={{ height: item.size, transform: `translateY(${item.start}px)` }}
              >
                <Cells row={row} open={open.has(row.task.id)} onToggle={() => toggle(row.task.id)} model={model} />
              </div>
            )
          })}
        </div>
      </div>
    </>
  )
}

interface CellsProps {
  row: TreeRow
  open: boolean
  model: RunModel
  onToggle: () => void
}

function Cells({ row, open, model, onToggle }: CellsProps) {
  const t = useT()
  const names = useNames()
  const { task } = row
  const detail = errorNow(task)?.message ?? (row.children && task.total ? branchText(model, task.id, task.total) : task.action)
  return (
    <>
      <span role="gridcell" className="flex min-w-0 items-center" style={{ paddingLeft: row.depth * 18 }}>
        {row.children ? (
          <button
            type="button"
            aria-label={open ? t('Fold') : t('Unfold')}
            className="w-6 shrink-0"
            onClick={(event) => {
              event.stopPropagation()
              onToggle()
            }}
          >
            <Icon name={open ? 'fold' : 'unfold'} size={14} />
          </button>
        ) : (
          <span className="w-6 shrink-0" />
        )}
        <span className="truncate font-medium">{shortName(row, names)}</span>
      </span>
      <span role="gridcell">
        <Status state={task.state} />
      </span>
      <span role="gridcell" className="text-xs">
        <Span from={task.startedAt ?? task.createdAt} to={task.finishedAt} />
      </span>
      <span role="gridcell" className="hidden tabular-nums md:block">
        {task.attempts || ''}
      </span>
      <span role="gridcell" className={`hidden truncate text-xs md:block ${task.state === 'failed' ? 'text-bad' : 'text-soft'}`} title={String(detail)}>
        {detail}
      </span>
    </>
  )
}

function branchText(model: RunModel, container: string, total: number): string {
  const counts: Record<string, number> = {}
  for (let index = 0; index < total; index += 1) {
    const state = model.tasks.get(`${container}~${index}`)?.state
    if (state) counts[state] = (counts[state] ?? 0) + 1
  }
  return foldedText(total, counts)
}

/** Containers with few tasks are open at first. */
function smallContainers(model: RunModel): ReadonlySet<string> {
  const open = new Set<string>()
  for (const task of model.tasks.values()) if (task.total <= 20) open.add(task.id)
  return open
}
