import { expect, test } from 'vitest'

import type { Worker } from '@/api/types'
import { healthOf, inOrder, matching } from '@/worker/health'

function worker(id: string, change: Partial<Worker> = {}): Worker {
  const told = { hostname: '', version: '', instanceId: '', tenant: '', capabilities: null, heartbeat: null, payloadTypes: [], channels: [] }
  return {
    ...told,
    ...{ id, transport: 'link', url: '', services: [], capacity: 4, load: 0, held: 1, state: 'online', registeredAt: 0, seenAt: 0 },
    ...{ packages: [], queues: [], connected: true, registered: true, lastHeartbeatAt: '' },
    ...change,
  }
}

function beating(metrics: unknown, healthy: unknown = true): Worker {
  return worker('w', { heartbeat: { healthy, metrics } as unknown as Worker['heartbeat'] })
}

test('health is what the worker said last', () => {
  const health = healthOf(beating({ cpuPct: 41.4, memPct: 130, diskPct: 'full', inflight: 2, held: ['a', 3], uptimeS: 9 }))
  expect(health.gauges).toEqual([
    { name: 'cpu', percent: 41.4, text: '41 %' },
    { name: 'memory', percent: 100, text: '130 %' },
    { name: 'work', percent: 50, text: '2 / 4' },
  ])
  expect(health).toMatchObject({ healthy: true, held: ['a'], uptimeS: 9, rssBytes: null })
})

test.each([[null], [undefined], [7], [[]]])('a worker that says %j of itself is shown by what it holds', (metrics) => {
  const health = healthOf(beating(metrics, 'yes'))
  expect(health.gauges).toEqual([{ name: 'work', percent: 25, text: '1 / 4' }])
  expect(health.healthy).toBeNull()
})

test('who needs somebody comes first', () => {
  const all = [worker('c', { state: 'offline' }), worker('b'), worker('a'), worker('d', { state: 'late' }), worker('e', { state: 'draining' })]
  expect(inOrder(all).map((one) => one.id)).toEqual(['d', 'e', 'a', 'b', 'c'])
})

test('a filter leaves the workers it names', () => {
  const has = worker('one', { packages: [{ name: 'web', version: '1.2.0', status: 'installed' }] })
  const pulls = worker('two', { transport: 'pull', services: ['sum'], state: 'late' })
  const none = { q: '', state: '', way: '', package: '' }
  const ids = (change: object) => matching([has, pulls], { ...none, ...change }).map((one) => one.id)
  expect(ids({})).toEqual(['one', 'two'])
  expect(ids({ q: 'WEB@1' })).toEqual(['one'])
  expect(ids({ q: 'sum' })).toEqual(['two'])
  expect(ids({ state: 'late' })).toEqual(['two'])
  expect(ids({ way: 'link' })).toEqual(['one'])
  expect(ids({ package: 'web' })).toEqual(['one'])
  expect(ids({ package: 'web', way: 'pull' })).toEqual([])
})
