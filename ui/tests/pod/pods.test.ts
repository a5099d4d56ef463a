import { expect, test } from 'vitest'

import type { Pod } from '@/api/types'
import { zh } from '@/i18n/zh'
import { lookOf } from '@/parts/status'
import { byNamespace, classText, countStates, percentOf, POD_STATES, saysOf, shownState } from '@/pod/pods'

function pod(change: Partial<Pod> = {}): Pod {
  const ids = { attemptId: 'r~a.0@1', runId: 'r', flow: 'f', taskId: 'r~a.0', node: 'a', number: 1 }
  const said = { waitsFor: '', waits: null, failureClass: '', reason: '', progress: null, stopping: false }
  return { ...ids, ...said, namespace: 'ns', pod: 'p', uid: '', image: '', state: 'claimed', since: 1, claimedAt: 1, ...change }
}

test('a pod that has not begun waits, one that was asked to stop is cancelling', () => {
  expect(shownState(pod())).toBe('waiting')
  expect(shownState(pod({ state: 'running' }))).toBe('running')
  expect(shownState(pod({ state: 'running', stopping: true }))).toBe('cancelling')
})

test('every state has a word and a look of its own', () => {
  for (const state of POD_STATES) {
    expect(zh).toHaveProperty(state)
    expect(lookOf(shownState(pod({ state }))), state).not.toBe(lookOf('no such state'))
  }
})

test('why it failed goes before what it waited for and how far it was', () => {
  const progress = { share: 0.25, message: 'counting', at: 1 }
  expect(saysOf(pod({ progress }))).toEqual({ kind: 'progress', text: 'counting' })
  const waits = { code: 'pod.unscheduled', values: {} } as Pod['waits']
  expect(saysOf(pod({ progress, waits }))).toEqual({ kind: 'waits', text: 'waits for a node' })
  expect(saysOf(pod({ progress, failureClass: 'pod.oom', reason: 'killed' }))).toEqual({ kind: 'failed', text: 'killed' })
  expect(saysOf(pod({ failureClass: 'pod.oom', reason: 'pod ns/p: OOMKilled' })).text).toBe('OOMKilled')
  expect(saysOf(pod()).kind).toBe('none')
})

test('progress is whole percent between 0 and 100, and nothing where nothing was said', () => {
  const of = (share: number | null) => percentOf(pod({ progress: { share, message: '', at: 1 } }))
  expect([of(0), of(0.256), of(7), of(null), percentOf(pod())]).toEqual([0, 26, 100, null, null])
})

test('classes of failures are told in words, those of programs as they are', () => {
  expect(classText('pod.oom')).toBe('Out of memory')
  expect(classText('E.MINE')).toBeNull()
})

test('namespaces come by name, their squares with what needs a look first', () => {
  const found = byNamespace([
    pod({ namespace: 'b', state: 'running' }),
    pod({ namespace: 'a', state: 'succeeded' }),
    pod({ namespace: 'b', state: 'failed' }),
    pod({ namespace: 'b' }),
    pod({ namespace: 'b', state: 'running' }),
  ])
  expect(found.map((one) => one.name)).toEqual(['a', 'b'])
  expect(found[1]?.states).toEqual(['failed', 'waiting', 'running', 'running'])
  expect(countStates(found[1]?.states ?? [])).toEqual([['failed', 1], ['waiting', 1], ['running', 2]])
})
