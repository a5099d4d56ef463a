/** Everything that happened, by attempt or one by one; the newest part first, earlier parts on demand. */
import { useVirtualizer } from '@tanstack/react-virtual'
import { useEffect, useMemo, useRef, useState } from 'react'

import { eventsPage } from '@/api/queries'
import type { RunEvent } from '@/api/types'
import type { Names } from '@/graph/names'
import { stateWord, useT } from '@/i18n'
import { Button, Choices } from '@/parts/basics'
import { Span, Time } from '@/parts/clock'
import { toastError } from '@/parts/feedback'
import { Icon } from '@/parts/icons'
import { Json } from '@/parts/json'
import { Status } from '@/parts/status'

import { type AttemptGroup, changesOf, type EventRow, rowsOf } from './event-rows'
import { useNames } from './names'

const PAGE = 500

interface Props {
  runId: string
  seq: number
  onSelect: (task: string) => void
}

type Shape = 'attempts' | 'all'

export function EventsView({ runId, seq, onSelect }: Props) {
  const t = useT()
  const { events, earlier } = useEvents(runId, seq)
  const [shape, setShape] = useState<Shape>('attempts')
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set())
  const rows = useMemo(() => rowsOf(events, shape === 'attempts', open), [events, shape, open])
  const box = useRef<HTMLDivElement>(null)
  const list = useVirtualizer({
    count: rows.length,
    getScrollElement: () => box.current,
    estimateSize: (at) => (rows[at]?.kind === 'detail' ? 160 : 32),
    getItemKey: (at) => keyOf(rows[at]),
    overscan: 15,
  })
  const toggle = (key: string) => setOpen((old) => (old.has(key) ? new Set([...old].filter((one) => one !== key)) : new Set([...old, key])))
  return (
    <>
      <div className="flex items-center gap-2 border-b border-line p-2 text-sm">
        <Choices
          label={t('Events')}
          value={shape}
          onChange={setShape}
          choices={[
            { id: 'attempts', text: t('By attempt') },
            { id: 'all', text: t('One by one') },
          ]}
        />
        <span role="status" data-events={events.length} className="mr-auto text-soft">
          {t('{n} events', { n: seq })}
        </span>
        {earlier && <Button onClick={earlier}>{t('Load earlier')}</Button>}
      </div>
      <div ref={box} tabIndex={0} role="log" aria-label={t('Events')} aria-live="off" className="min-h-0 flex-1 overflow-auto">
        <div className="relative" style={{ height: list.getTotalSize() }}>
          {list.getVirtualItems().map((item) => (
            <div
              key={item.key}
              data-index={item.index}
              ref={list.measureElement}
              className="absolute top-0 left-0 w-full border-b border-line text-xs"
              style={{ transform: `translateY(${item.start}px)` }}
            >
              <Row row={rows[item.index] as EventRow} onToggle={toggle} onSelect={onSelect} />
            </div>
          ))}
        </div>
      </div>
    </>
  )
}

function keyOf(row: EventRow | undefined): string {
  if (!row) return ''
  return row.kind === 'group' ? row.id : `${row.kind} ${row.event.seq}`
}

interface RowProps {
  row: EventRow
  onToggle: (key: string) => void
  onSelect: (task: string) => void
}

function Row({ row, onToggle, onSelect }: RowProps) {
  const t = useT()
  switch (row.kind) {
    case 'group':
      return <GroupRow group={row} onToggle={onToggle} onSelect={onSelect} />
    case 'event':
      return <OneEvent event={row.event} inside={row.inside} open={row.open} onToggle={onToggle} onSelect={onSelect} />
    case 'detail':
      return (
        <div className="p-2">
          <Json value={row.event.data} name={t('Event {n}', { n: row.event.seq })} />
        </div>
      )
  }
}

const LINE = 'flex h-8 w-full items-center gap-3 px-2'

function Fold({ open, label, onClick }: { open: boolean; label: string; onClick: () => void }) {
  return (
    <button type="button" aria-expanded={open} aria-label={label} className="shrink-0 rounded p-1 text-soft hover:bg-sunk" onClick={onClick}>
      <Icon name={open ? 'fold' : 'unfold'} size={14} />
    </button>
  )
}

/** An attempt with how far it has come; its events unfold below it. */
function GroupRow({ group, onToggle, onSelect }: { group: AttemptGroup } & Omit<RowProps, 'row'>) {
  const t = useT()
  const names = useNames()
  const [newest, oldest] = [group.events[0], group.events.at(-1)]
  if (!newest || !oldest) return null
  const name = `${names.ofTask(group.task)} #${group.number}`
  const state = changesOf(newest).find((change) => change.attempt === group.id)?.state
  return (
    <div data-seq={newest.seq} data-attempt-events={group.id} className={LINE}>
      <Fold open={group.open} label={name} onClick={() => onToggle(group.id)} />
      <span className="w-10 shrink-0 text-right text-soft tabular-nums">{newest.seq}</span>
      <span className="hidden sm:inline">
        <Time at={newest.at} />
      </span>
      <button type="button" className="min-w-0 truncate font-semibold text-accent hover:underline" onClick={() => onSelect(group.task)}>
        {name}
      </button>
      {state && <Status state={state} plain />}
      <span className="ml-auto whitespace-nowrap text-soft">
        {t('{n} events', { n: group.events.length })} · <Span from={oldest.at} to={newest.at} />
      </span>
    </div>
  )
}

interface OneProps extends Omit<RowProps, 'row'> {
  event: RunEvent
  inside: boolean
  open: boolean
}

function OneEvent({ event, inside, open, onToggle, onSelect }: OneProps) {
  const t = useT()
  const names = useNames()
  return (
    <div data-seq={event.seq} className={`${LINE} ${inside ? 'bg-sunk/40 pl-6' : ''}`}>
      <Fold open={open} label={t('Event {n}', { n: event.seq })} onClick={() => onToggle(String(event.seq))} />
      <span className="w-10 shrink-0 text-right text-soft tabular-nums">{event.seq}</span>
      <span className="hidden sm:inline">
        <Time at={event.at} />
      </span>
      <span className="w-28 shrink-0 truncate font-semibold sm:w-36" title={event.type}>
        {event.type}
      </span>
      <span className="truncate">
        {event.taskId && !inside && (
          <button type="button" className="text-accent hover:underline" onClick={() => onSelect(event.taskId as string)}>
            {names.ofTask(event.taskId)}
          </button>
        )}{' '}
        <span className="font-mono text-soft">{summary(event, t, names)}</span>
      </span>
    </div>
  )
}

/** Events from the last page on; live ones are read by `seq` as the model tells of them. */
function useEvents(runId: string, seq: number) {
  const [events, setEvents] = useState<RunEvent[]>([])
  const busy = useRef(false)
  const first = events[0]?.seq ?? 0
  const last = events.at(-1)?.seq ?? Math.max(0, seq - PAGE)
  useEffect(() => {
    if (busy.current || seq <= last) return
    busy.current = true
    eventsPage(runId, last, 1000)
      .then((page) => setEvents((old) => [...old, ...page.items.filter((event) => event.seq > (old.at(-1)?.seq ?? 0))]))
      .catch(toastError)
      .finally(() => {
        busy.current = false
      })
  }, [runId, seq, last])
  const loadEarlier = () => {
    const after = Math.max(0, first - 1 - PAGE)
    eventsPage(runId, after, Math.max(1, first - 1 - after))
      .then((page) => setEvents((old) => [...page.items.filter((event) => event.seq < first), ...old]))
      .catch(toastError)
  }
  const newestFirst = useMemo(() => [...events].reverse(), [events])
  return { events: newestFirst, earlier: first > 1 ? loadEarlier : undefined }
}

function summary(event: RunEvent, t: ReturnType<typeof useT>, names: Names): string {
  return changesOf(event)
    .map((change) => {
      const state = stateWord(t, change.state ?? '')
      if (change.run) return `${t('run')} ${stateWord(t, change.run)}`
      if (change.attempt) return `#${change.attempt.split('@').at(-1)} ${state}${change.worker ? ` @${change.worker}` : ''}`
      if (change.fanout) return `×${change.total}`
      if (change.checkpoint) return `${t('checkpoint')} ${state}`
      return `${names.of(change.node ?? '')} ${state}`
    })
    .join(' · ')
}
