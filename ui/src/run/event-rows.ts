/** Events as rows: one after the other, or together by the attempt they are about. */
import type { RunEvent } from '@/api/types'
import type { Change } from '@/live/news'

export interface AttemptGroup {
  kind: 'group'
  /** The attempt's id. */
  id: string
  task: string
  number: number
  /** The newest first. */
  events: RunEvent[]
  open: boolean
}

export type EventRow = AttemptGroup | { kind: 'event'; event: RunEvent; inside: boolean; open: boolean } | { kind: 'detail'; event: RunEvent }

export function changesOf(event: RunEvent): readonly Change[] {
  return (event.data as { changes?: Change[] }).changes ?? []
}

/** The attempt an event is about; '' of those about a task, the run or several attempts. */
export function attemptOf(event: RunEvent): string {
  if (!event.type.startsWith('attempt.') || !event.taskId) return ''
  const ids = changesOf(event).flatMap((change) => (change.attempt?.startsWith(`${event.taskId}@`) ? [change.attempt] : []))
  return ids[0] ?? ''
}

/** Groups stand where their newest event stands; what was opened is a row below. */
export function rowsOf(events: readonly RunEvent[], grouped: boolean, open: ReadonlySet<string>): EventRow[] {
  const groups = new Map<string, AttemptGroup>()
  const rows: EventRow[] = []
  const put = (event: RunEvent, inside: boolean) => {
    const shown = open.has(String(event.seq))
    rows.push({ kind: 'event', event, inside, open: shown })
    if (shown) rows.push({ kind: 'detail', event })
  }
  if (grouped) {
    for (const event of events) {
      const id = attemptOf(event)
      const known = groups.get(id)
      if (known) known.events.push(event)
      else if (id) groups.set(id, { kind: 'group', id, task: event.taskId ?? '', number: Number(id.split('@').at(-1)), events: [event], open: open.has(id) })
    }
  }
  for (const event of events) {
    const group = groups.get(attemptOf(event))
    if (!group) put(event, false)
    else if (group.events[0] === event) {
      rows.push(group)
      if (group.open) group.events.forEach((one) => put(one, true))
    }
  }
  return rows
}
