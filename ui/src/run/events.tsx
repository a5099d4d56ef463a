/** Everything that happened, in order; the newest part first, earlier parts on demand. */
import { useVirtualizer } from '@tanstack/react-virtual'
import { useEffect, useMemo, useRef, useState } from 'react'

import { eventsPage } from '@/api/queries'
import type { RunEvent } from '@/api/types'
import type { Names } from '@/graph/names'
import { stateWord, useT } from '@/i18n'
import type { Change } from '@/live/news'
import { Button } from '@/parts/basics'
import { Time } from '@/parts/clock'
import { toastError } from '@/parts/feedback'

import { useNames } from './names'

const PAGE = 500

interface Props {
  runId: string
  seq: number
  onSelect: (task: string) => void
}

export function EventsView({ runId, seq, onSelect }: Props) {
  const t = useT()
  const names = useNames()
  const { events, earlier } = useEvents(runId, seq)
  const [raw, setRaw] = useState(false)
  const box = useRef<HTMLDivElement>(null)
  const list = useVirtualizer({
    count: events.length,
    getScrollElement: () => box.current,
    estimateSize: () => 32,
    overscan: 15,
  })
  return (
    <>
      <div className="flex items-center gap-2 border-b border-line p-2 text-sm">
        <span role="status" data-events={events.length} className="mr-auto text-soft">
          {t('{n} events', { n: seq })}
        </span>
        {earlier && <Button onClick={earlier}>{t('Load earlier')}</Button>}
        <Button aria-pressed={raw} onClick={() => setRaw(!raw)}>
          {'{ }'} {t('Raw')}
        </Button>
      </div>
      <div ref={box} tabIndex={0} role="log" aria-label={t('Events')} aria-live="off" className="min-h-0 flex-1 overflow-auto">
        <div className="relative" style={{ height: list.getTotalSize() }}>
          {list.getVirtualItems().map((item) => {
            const event = events[item.index] as RunEvent
            return (
              <div
                key={event.seq}
                data-seq={event.seq}
                className="absolute top-0 left-0 flex h-8 w-full items-center gap-3 border-b border-line px-3 text-xs"
                style={{ transform: `translateY(${item.start}px)` }}
              >
                <span className="w-10 shrink-0 text-right text-soft tabular-nums">{event.seq}</span>
                <span className="hidden sm:inline">
                  <Time at={event.at} />
                </span>
                <span className="w-28 shrink-0 truncate font-semibold sm:w-36" title={event.type}>{event.type}</span>
                <span className="truncate">
                  {event.taskId && (
                    <button type="button" className="text-accent hover:underline" onClick={() => onSelect(event.taskId as string)}>
                      {names.ofTask(event.taskId)}
                    </button>
                  )}{' '}
                  <span className="font-mono text-soft">{raw ? JSON.stringify(event.data) : summary(event, t, names)}</span>
                </span>
              </div>
            )
          })}
        </div>
      </div>
    </>
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
  const { changes = [] } = event.data as { changes?: Change[] }
  return changes
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
