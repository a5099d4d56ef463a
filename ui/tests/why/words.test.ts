import { describe, expect, test } from 'vitest'

import type { Reason, Why } from '@/api/types'
import { sayReason, sayWhy } from '@/why/say'
import { en } from '@/why/en'
import { zh } from '@/why/zh'

import document from '../../openapi.json'

const CODES = document.components.schemas.ReasonCode.enum as Reason['code'][]
const NOW = 1_000_000
const FULL: Reason['values'] = {
  node: 'fetch', idx: 2, role: 'work', state: 'draining', worker: 'w-1', workers: 3, attempt: 4, since: NOW - 166_000, until: NOW + 65_000,
  transport: 'pull', service: 'transform', package: 'kit@1', otherWorker: 'w-2', otherTransport: 'push', failsAfterS: 5, installWorker: 'w-3',
  installAt: NOW - 9000, key: 'bank:42', ahead: 7, used: '1', most: '2', reserved: '3', wanted: '4', unit: 'tokens', tenant: 'acme', failures: 5,
  env: 'box', kind: 'container', pod: 'ns/p', place: 'n1', cause: 'ContainerCreating', share: 0.25, heardAt: NOW - 3000, message: 'its words',
}

describe.each(CODES)('%s', (code) => {
  test('is worded in both languages, with everything or next to nothing known', () => {
    expect(en).toHaveProperty([code])
    expect(zh).toHaveProperty([code])
    for (const values of [FULL, {}]) {
      const [english, chinese] = ['en', 'zh'].map((language) => sayReason({ code, values }, NOW, undefined, language))
      expect(english).toBeTruthy()
      expect(chinese).toMatch(/[\u4e00-\u9fff]/)
      if (values === FULL) for (const said of [english, chinese]) expect(said).not.toMatch(/undefined|NaN/)
    }
  })
})

test('what passes grows and what is left shrinks while somebody looks', () => {
  const queued: Reason = { code: 'queue.no_worker', values: { node: 'a', role: 'work', since: NOW, transport: 'pull', service: 's' } }
  expect(sayReason(queued, NOW + 166_000, undefined, 'en')).toBe('"a" is queued for 2m 46s: no live pull worker serves "s"')
  const sleeps: Reason = { code: 'sleep', values: { node: 'a', until: NOW + 10_000 } }
  expect(sayReason(sleeps, NOW + 4000, undefined, 'en')).toBe('"a" sleeps for 6s more')
  expect(sayReason(sleeps, NOW + 60_000, undefined, 'en')).toBe('"a" sleeps for 0s more')
})

test('a function that nobody has says when its call fails, where it does', () => {
  const missing: Reason = { code: 'queue.no_function', values: { node: 'a', role: 'work', since: NOW, service: 'mull' } }
  expect(sayReason(missing, NOW, undefined, 'en')).toBe('"a" is queued for 0s: no server has a local function "mull"')
  const failing: Reason = { ...missing, values: { ...missing.values, failsAfterS: 30 } }
  expect(sayReason(failing, NOW, undefined, 'en')).toBe('"a" is queued for 0s: no server has a local function "mull"; it fails after 30s without one')
})

test('nodes stand under their names', () => {
  const reason: Reason = { code: 'signal', values: { node: 'id-1', key: 'go' } }
  expect(sayReason(reason, NOW, (path) => (path === 'id-1' ? 'Open page' : path), 'en')).toBe('"Open page" waits for signal "go"')
  expect(sayReason({ ...reason, values: { node: '%E8%8A%82', key: 'go' } }, NOW, undefined, 'en')).toBe('"节" waits for signal "go"')
})

test('a code of a newer server is shown in its own English', () => {
  const why = { line: 'something new', reason: { code: 'of.tomorrow' as Reason['code'], values: {} }, at: NOW, more: 0, cancelling: false, reasons: [] } satisfies Why
  expect(sayWhy(why, NOW, undefined, 'zh')).toBe('something new')
})

test('the line of a run tells of the others and that it is being cancelled', () => {
  const why: Why = { line: '', reason: { code: 'signal', values: { node: 'hold', key: 'go' } }, at: NOW, more: 2, cancelling: true, reasons: [] }
  expect(sayWhy(why, NOW, undefined, 'en')).toBe('Being cancelled: "hold" waits for signal "go" (and 2 more)')
  expect(sayWhy(why, NOW, undefined, 'zh')).toBe('正在取消："hold" 等待信号 "go"（另有 2 个）')
})
