import { expect, test } from 'vitest'

import type { RunEvent } from '@/api/types'
import { attemptOf, rowsOf } from '@/run/event-rows'

function event(seq: number, type: string, attempt = ''): RunEvent {
  const taskId = attempt ? (attempt.split('@')[0] ?? '') : null
  return { seq, type, taskId, at: seq, data: { changes: attempt ? [{ attempt, state: 'running' }] : [] } as unknown as RunEvent['data'] }
}

// The newest first, as the page has them.
const events = [
  event(6, 'attempt.succeeded', 'r~b.1@1'),
  event(5, 'attempt.failed', 'r~a.1@1'),
  event(4, 'attempt.claimed', 'r~b.1@1'),
  event(3, 'hint.given'),
  event(2, 'attempt.claimed', 'r~a.1@1'),
  event(1, 'run.started'),
]
const seqs = (rows: ReturnType<typeof rowsOf>) => rows.map((row) => (row.kind === 'group' ? `${row.id} ×${row.events.length}` : `${row.kind} ${row.event.seq}`))

test('an event is of the attempt it changes', () => {
  expect(events.map(attemptOf)).toEqual(['r~b.1@1', 'r~a.1@1', 'r~b.1@1', '', 'r~a.1@1', ''])
})

test('events of an attempt stand together where its newest stands', () => {
  expect(seqs(rowsOf(events, true, new Set()))).toEqual(['r~b.1@1 ×2', 'r~a.1@1 ×2', 'event 3', 'event 1'])
  expect(seqs(rowsOf(events, false, new Set()))).toEqual(['event 6', 'event 5', 'event 4', 'event 3', 'event 2', 'event 1'])
})

test('what was opened shows what is in it', () => {
  expect(seqs(rowsOf(events, true, new Set(['r~a.1@1', '2', '3'])))).toEqual([
    'r~b.1@1 ×2',
    'r~a.1@1 ×2',
    'event 5',
    'event 2',
    'detail 2',
    'event 3',
    'detail 3',
    'event 1',
  ])
})
