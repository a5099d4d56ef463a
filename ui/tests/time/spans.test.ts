import { expect, test } from 'vitest'

import { applyEvents, type TaskLite } from '@/live/model'
import { lanesOf, spansOf } from '@/time/spans'

const model = applyEvents({ id: 'r', seq: 0, tasks: new Map(), attempts: new Map(), added: 0 }, [
  { seq: 1, at: 0, data: { changes: [{ task: 'r~a.1', node: 'a', state: 'queued' }] } },
  { seq: 2, at: 10, data: { changes: [{ task: 'r~a.1', node: 'a', state: 'running' }, { attempt: 'r~a.1@1', state: 'claimed', worker: 'w' }] } },
  { seq: 3, at: 20, data: { changes: [{ attempt: 'r~a.1@1', state: 'failed' }, { task: 'r~a.1', node: 'a', state: 'waiting' }] } },
  { seq: 4, at: 50, data: { changes: [{ task: 'r~a.1', node: 'a', state: 'running' }, { attempt: 'r~a.1@2', state: 'claimed', worker: 'w' }] } },
  { seq: 5, at: 60, data: { changes: [{ attempt: 'r~a.1@2', state: 'succeeded' }, { task: 'r~a.1', node: 'a', state: 'succeeded' }] } },
  { seq: 6, at: 60, data: { changes: [{ task: 'r~ok.2', node: 'ok', state: 'waiting' }] } },
])
const kinds = new Map([['ok', 'approval']])

test('queueing, running and waiting are told apart', () => {
  const spans = spansOf(model, kinds, 100, 'node', 0)
  expect(spans.map((span) => [span.node, span.kind, span.from, span.to])).toEqual([
    ['a', 'queue', 0, 10],
    ['a', 'run', 10, 20],
    ['a', 'wait', 20, 50],
    ['a', 'run', 50, 60],
    ['ok', 'wait', 60, 100],
  ])
})

test('one attempt can be picked', () => {
  const runs = spansOf(model, kinds, 100, 'node', -1).filter((span) => span.kind === 'run')
  expect(runs.map((span) => span.attempt)).toEqual([2])
})

test('rows of a lane never overlap while there is room for more', () => {
  const many = Array.from({ length: 40 }, (_, at) => ({
    ...{ task: `t${at}`, node: 'n', lane: 'n', kind: 'run' as const, state: 'succeeded', attempt: 1, worker: '', role: 'work' },
    ...{ from: at * 3, to: at * 3 + 10, open: false },
  }))
  for (const row of lanesOf(many, 50)[0]!.rows) {
    row.forEach((span, at) => at && expect(span.from).toBeGreaterThanOrEqual(row[at - 1]!.to))
  }
})

test('of a plan it is told who was at it: planners, workers, verifiers and people', () => {
  const at = (seq: number, ...changes: object[]) => ({ seq, at: seq * 10, data: { changes } })
  const plan = { id: 'r~plan.0', node: 'plan', kind: 'plan', state: 'queued', attempts: 0, total: 1, createdAt: 0, finishedAt: null, generation: 0, failures: 0 }
  const start = { id: 'r', seq: 0, tasks: new Map([['r~plan.0', plan as unknown as TaskLite]]), attempts: new Map(), added: 0 }
  const made = applyEvents(start, [
    at(1, { attempt: 'r~plan.0@1', state: 'claimed', worker: 'p' }),
    at(2, { attempt: 'r~plan.0@1', state: 'succeeded' }, { task: 'r~plan.0~a.0', node: 'a', state: 'queued' }),
    at(3, { task: 'r~plan.0~a.0', node: 'a', state: 'running' }, { attempt: 'r~plan.0~a.0@1', state: 'claimed', worker: 'w' }),
    at(4, { attempt: 'r~plan.0~a.0@1', state: 'succeeded' }, { task: 'r~plan.0~a.0', node: 'a', state: 'verifying' }),
    at(5, { attempt: 'r~plan.0~a.0@2', state: 'claimed', worker: 'v' }),
    at(6, { task: 'r~plan.0~ok.0', node: 'ok', state: 'waiting' }),
  ])
  const lanes = spansOf(made, new Map([['ok', 'approval']]), 100, 'role', 0)
  expect([...new Set(lanes.filter((span) => span.kind === 'run' || span.role === 'people').map((span) => `${span.role} ${span.worker}`.trim()))]).toEqual(['plan p', 'work w', 'verify v', 'people'])
})
