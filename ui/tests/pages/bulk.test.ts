import { expect, test } from 'vitest'

import { type BulkState, doEach } from '@/pages/bulk-work'
import { renewAt } from '@/shell/session'

const IDS = Array.from({ length: 10 }, (_, at) => `run-${at}`)

test('every run is tried once, and refusals are told by run', async () => {
  const tried: string[] = []
  const told: BulkState[] = []
  const each = async (id: string) => {
    tried.push(id)
    await Promise.resolve()
    if (id === 'run-3') throw new Error('not now')
  }
  const end = await doEach('cancel', IDS, each, (state) => told.push(state), new AbortController().signal)
  expect([...tried].sort()).toEqual(IDS)
  expect(end).toMatchObject({ total: 10, done: 9, failed: [{ id: 'run-3', detail: 'not now' }], over: true })
  expect(told.map((state) => state.done + state.failed.length)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 10])
})

test('stopping leaves the rest alone', async () => {
  const stop = new AbortController()
  const tried: string[] = []
  const each = async (id: string) => {
    tried.push(id)
    if (tried.length === 4) stop.abort()
    await Promise.resolve()
  }
  const end = await doEach('retry', IDS, each, () => undefined, stop.signal)
  expect(tried).toHaveLength(4)
  expect(end).toMatchObject({ done: 4, over: true })
})

test('a session is renewed well before it ends', () => {
  expect(renewAt({ accessToken: 'x', expiresIn: 900 }, 1000)).toBe(1000 + 540_000)
})
