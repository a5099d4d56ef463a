import { afterEach, expect, test, vi } from 'vitest'

import { setTenant, setToken } from '@/api/client'
import { dataUrl, releaseSession, screenshotQuery } from '@/api/envs'
import type { EnvKind, EnvResource, Reason } from '@/api/types'
import { changesOf, firstCommand, hasPlace, heldOf, mayRelease, missingKinds, SESSION_STATES, taskName } from '@/env/places'
import { zh } from '@/i18n/zh'
import { lookOf } from '@/parts/status'
import { sayReason } from '@/why/say'

const kind = (name: string, missing = ''): EnvKind => ({ kind: name, hosts: missing ? [] : ['here'], missing })

function resource(name: string, of: string, status = 'active'): EnvResource {
  const rest = { config: {}, metadata: {}, createdAt: 0, createdBy: '', changedAt: 0, missing: '' }
  return { id: name, name, kind: of, status, capacity: 1, inUse: 0, waiting: 0, ...rest }
}

afterEach(() => {
  vi.unstubAllGlobals()
  setToken('')
  setTenant('')
})

test('only a place nobody works in can be given back', () => {
  const may = (state: string, attemptId = '') => mayRelease({ state, attemptId })
  expect(SESSION_STATES.filter((state) => may(state))).toEqual(['committed', 'held', 'kept'])
  expect(SESSION_STATES.filter((state) => may(state, 'attempt-1'))).toEqual(['held', 'kept'])
})

test('there is something to see only while the place is there', () => {
  expect(SESSION_STATES.filter((state) => hasPlace({ state }))).toEqual(['committed', 'held', 'kept'])
})

test('a task is named without its run', () => {
  expect(taskName({ runId: 'run-1', taskId: 'run-1~test.2' })).toBe('test.2')
  expect(taskName({ runId: 'run-1', taskId: 'run-12~test.2' })).toBe('run-12~test.2')
  expect(taskName({ runId: 'run-1', taskId: 'run-1~%E8%8A%82.2' })).toBe('节.2')
})

test('missing runtimes are told, those that a resource needs first', () => {
  const kinds = [kind('container', 'install podman'), kind('browser', 'install Chromium'), kind('phone', 'no driver'), kind('desktop', 'no driver'), kind('noop')]
  expect(missingKinds(kinds, [])).toEqual([
    { kind: 'container', text: 'install podman', lacks: null, resources: [] },
    { kind: 'browser', text: 'install Chromium', lacks: null, resources: [] },
  ])
  const told = missingKinds(kinds, [resource('web', 'browser'), resource('old', 'desktop', 'archived'), resource('call', 'phone'), resource('try', 'noop')])
  expect(told.map((one) => [one.kind, one.resources])).toEqual([
    ['browser', ['web']],
    ['phone', ['call']],
    ['container', []],
  ])
})

test('what is missing is worded in both languages, by its code', () => {
  const lacks: Reason = { code: 'env.no_runtime', values: { kind: 'browser' } }
  const [told] = missingKinds([{ ...kind('browser', 'nothing here can make a browser: …'), lacks }], [])
  expect(told?.lacks).toBe(lacks)
  expect(sayReason(lacks, 0, undefined, 'en')).toMatch(/^Nothing here can make a browser: install Chromium .*--env-browser/)
  expect(sayReason(lacks, 0, undefined, 'zh')).toMatch(/^这里没有可以创建 browser 的运行时：请安装 Chromium .*--env-browser/)
})

test('the first command makes something this server has', () => {
  expect(firstCommand([kind('container'), kind('browser')])).toContain('--kind container')
  expect(firstCommand([kind('container', 'x'), kind('browser'), kind('noop')])).toContain('--kind browser')
  expect(firstCommand([kind('container', 'x'), kind('browser', 'x'), kind('noop')])).toContain('--kind noop')
  expect(firstCommand([kind('container', 'x'), kind('phone')])).toBe('')
})

test('every state has a word in both languages and a look of its own', () => {
  for (const state of [...SESSION_STATES, 'pending', 'building', 'ready', 'failed', 'archived', 'active', 'disabled']) expect(zh).toHaveProperty(state)
  expect(lookOf('held').icon).toBe('waiting')
  expect(lookOf('committed').icon).toBe('succeeded')
})

test('a screenshot is fetched with the token, and shown as the policy allows it', async () => {
  const asked = vi.fn(async (_url: string, _init: RequestInit) => new Response(new Blob(['png'], { type: 'image/png' })))
  vi.stubGlobal('fetch', asked)
  setToken('secret')
  setTenant('acme')
  const { queryFn } = screenshotQuery('run-1~look.1!1')
  const shown = await (queryFn as (context: object) => Promise<string>)({ signal: new AbortController().signal })
  expect(shown).toMatch(/^data:image\/png;base64,/)
  const [url, init] = asked.mock.calls[0] ?? ['', {}]
  expect(new URL(url).pathname).toBe('/api/v1/envs/sessions/run-1~look.1!1/screenshot')
  expect(init.headers).toMatchObject({ Authorization: 'Bearer secret', 'Windlass-Tenant': 'acme' })
})

test('a refused release says why', async () => {
  const detail = 'session s cannot be given back: attempt a works in it'
  vi.stubGlobal('fetch', async () => new Response(JSON.stringify({ title: 'Conflict', detail }), { status: 409 }))
  await expect(releaseSession('s')).rejects.toThrow(detail)
})

test('a picture becomes an address', async () => {
  expect(await dataUrl(new Blob(['a'], { type: 'image/png' }))).toBe('data:image/png;base64,YQ==')
})

test('places that nobody works in are counted by resource', () => {
  const of = (resource: string, state: string) => ({ resource, state })
  const held = heldOf([of('a', 'held'), of('a', 'kept'), of('a', 'committed'), of('b', 'reserved')])
  expect([...held]).toEqual([['a', 2]])
})

test('each snapshot is compared with the one before it', () => {
  const of = (digest: string, sizeBytes: number) => ({ digest, sizeBytes })
  expect(changesOf([of('x', 10), of('x', 10), of('y', 4)])).toEqual([
    { changed: null, grown: 0 },
    { changed: false, grown: 0 },
    { changed: true, grown: -6 },
  ])
})
