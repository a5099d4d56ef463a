import { expect, test } from 'vitest'

import { Names } from '@/graph/names'
import { applyEvents, type RunModel, type TaskLite } from '@/live/model'
import { atOnce, draw } from '@/run/picture'
import { type SpanCache, spansOf } from '@/time/spans'

function task(id: string, change: Partial<TaskLite> = {}): TaskLite {
  return {
    ...{ id, node: 'a', kind: 'call', state: 'queued', step: 1, index: -1, attempts: 0, failures: 0, generation: 0 },
    ...{ total: 0, failed: 0, action: '', error: null, createdAt: 10, startedAt: null, finishedAt: null, dueAt: null },
    ...change,
  }
}

const MODEL: RunModel = {
  id: 'r',
  seq: 1,
  tasks: new Map([['r~a.1', task('r~a.1')]]),
  attempts: new Map(),
  added: 0,
}
const KINDS = new Map([['a', 'call']])
const claimed = { seq: 2, at: 20, data: { changes: [{ task: 'r~a.1', node: 'a', state: 'running' }, { attempt: 'r~a.1@1', state: 'claimed', worker: 'w' }] } }
const done = { seq: 3, at: 30, data: { changes: [{ task: 'r~a.1', node: 'a', state: 'succeeded' }, { attempt: 'r~a.1@1', state: 'succeeded' }] } }
const again = { seq: 4, at: 40, data: { changes: [{ task: 'r~a.1', node: 'a', state: 'queued', generation: 1 }] } }

test('what is kept of ended tasks never differs from what would be worked out anew', () => {
  const cache: SpanCache = new WeakMap()
  let model = MODEL
  for (const event of [claimed, done, again]) {
    model = applyEvents(model, [event])
    for (const now of [100, 200]) {
      expect(spansOf(model, KINDS, now, 'node', 0, cache)).toEqual(spansOf(model, KINDS, now, 'node', 0))
    }
  }
})

test('a picture drawn in steps is the picture drawn at once', () => {
  const model = applyEvents(MODEL, [claimed, done])
  const ask = { model, kinds: KINDS, names: new Names(), cache: new WeakMap(), by: 'node' as const, roles: {}, attempt: 0, from: 0, now: 50, compress: true }
  const steps = draw(ask)
  let step = steps.next()
  while (!step.done) step = steps.next()
  const whole = atOnce(draw({ ...ask, cache: new WeakMap() }))
  expect(step.value.lanes).toEqual(whole.lanes)
  expect(step.value.map.length).toBe(whole.map.length)
  expect(whole.lanes.map((lane) => lane.name)).toEqual(['a'])
})
