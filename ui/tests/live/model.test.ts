import { describe, expect, test } from 'vitest'

import type { Outline } from '@/api/types'
import { applyEvents, fromOutline, nextEvents, type RunModel } from '@/live/model'
import type { Change, RunNews } from '@/live/news'

const EMPTY: RunModel = { id: 'r', seq: 0, tasks: new Map(), attempts: new Map(), added: 0 }

function news(seq: number, changes: Change[], runId = 'r'): RunNews {
  return {
    ...{ runId, flow: 'f', versionId: 'v', state: 'running', seq, type: 'x', taskId: null, at: seq * 10 },
    ...{ data: { changes }, error: null, failures: 0, open: 1, generation: 0 },
    ...{ createdAt: 0, startedAt: 0, updatedAt: 0, finishedAt: null },
  }
}

const STORY = [
  news(1, [{ task: 'r~a.1', node: 'a', state: 'queued' }]),
  news(2, [
    { task: 'r~a.1', node: 'a', state: 'running' },
    { attempt: 'r~a.1@1', state: 'claimed', worker: 'w' },
  ]),
  news(3, [
    { attempt: 'r~a.1@1', state: 'failed', error: { message: 'no' } },
    { task: 'r~a.1', node: 'a', state: 'waiting', due_at: 99 },
  ]),
  news(4, [{ task: 'r~a.1', node: 'a', state: 'running' }, { attempt: 'r~a.1@2', state: 'claimed', worker: 'w2' }]),
  news(5, [
    { attempt: 'r~a.1@2', state: 'succeeded' },
    { task: 'r~a.1', node: 'a', state: 'succeeded', action: 'go' },
    { task: 'r~each.2', node: 'each', state: 'running' },
    { fanout: 'r~each.2', made: [0, 3], released: 2, total: 3 },
  ]),
]

describe('applyEvents', () => {
  test('tells the story of a task', () => {
    const model = applyEvents(EMPTY, STORY)
    const task = model.tasks.get('r~a.1')
    expect(task).toMatchObject({ state: 'succeeded', attempts: 2, failures: 1, action: 'go', dueAt: null })
    expect(task).toMatchObject({ createdAt: 10, startedAt: 20, finishedAt: 50 })
    expect(model.attempts.get('r~a.1@1')).toMatchObject({ state: 'failed', worker: 'w', claimedAt: 20, finishedAt: 30 })
  })

  test('makes the branches of a fan-out, the released ones queued', () => {
    const model = applyEvents(EMPTY, STORY)
    expect(model.tasks.get('r~each.2')?.total).toBe(3)
    expect([0, 1, 2].map((index) => model.tasks.get(`r~each.2~${index}`)?.state)).toEqual(['queued', 'queued', 'pending'])
    expect(model.tasks.get('r~each.2~1')).toMatchObject({ node: 'each/*', index: 1 })
  })

  test('counts a failed branch once on its container', () => {
    const failed = news(6, [{ task: 'r~each.2~0', node: 'each/*', state: 'failed', error: { message: 'x' } }])
    const model = applyEvents(applyEvents(EMPTY, STORY), [failed, { ...failed, seq: 7 }])
    expect(model.tasks.get('r~each.2')?.failed).toBe(1)
  })

  test('does not care how the events are batched', () => {
    const whole = applyEvents(EMPTY, STORY)
    for (let cut = 0; cut <= STORY.length; cut += 1) {
      const parts = applyEvents(applyEvents(EMPTY, STORY.slice(0, cut)), STORY.slice(cut))
      expect(parts).toEqual(whole)
    }
  })

  test('leaves the old model alone and takes no event twice', () => {
    const before = applyEvents(EMPTY, STORY.slice(0, 2))
    const size = before.tasks.size
    const after = applyEvents(before, STORY)
    expect(before.tasks.size).toBe(size)
    expect(applyEvents(after, STORY)).toEqual(after)
  })

  test('a reopened task begins anew', () => {
    const again = news(6, [{ task: 'r~a.1', node: 'a', state: 'queued', generation: 1 }])
    expect(applyEvents(applyEvents(EMPTY, STORY), [again]).tasks.get('r~a.1')).toMatchObject({
      ...{ state: 'queued', startedAt: null, finishedAt: null, error: null, action: '' },
    })
  })
})

describe('nextEvents', () => {
  test('sorts, drops what is known and other runs', () => {
    const model = applyEvents(EMPTY, STORY.slice(0, 1))
    const mixed = [STORY[2], STORY[1], STORY[0], news(9, [], 'other')] as RunNews[]
    expect(nextEvents(model, mixed)).toEqual({ events: [STORY[1], STORY[2]], gap: false })
  })

  test('stops at a gap and says so', () => {
    expect(nextEvents(EMPTY, [STORY[0], STORY[3]] as RunNews[])).toEqual({ events: [STORY[0]], gap: true })
  })
})

test('an outline and the events after it meet in the same model', () => {
  const outline: Outline = {
    id: 'r',
    seq: 1,
    capped: false,
    tasks: [['~a.1', 'a', '', 'queued', 1, -1, 0, 0, 0, 0, 0, '', null, 10, null, null, null]],
    attempts: [],
    places: [],
  }
  const followed = applyEvents(fromOutline(outline), STORY)
  expect([...followed.tasks]).toEqual([...applyEvents(EMPTY, STORY).tasks])
})
