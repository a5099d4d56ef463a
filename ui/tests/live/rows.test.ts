import { expect, test } from 'vitest'

import type { Run } from '@/api/types'
import type { RunNews } from '@/live/news'
import { newSince, remember, withNews } from '@/live/rows'

const news = (runId: string, seq: number, state: string) => ({ runId, seq, state, error: null }) as RunNews
const row = { id: 'b', seq: 3, state: 'running' } as Run

test('a row follows the newest news and nothing older', () => {
  const latest = remember(new Map(), [news('b', 5, 'failed'), news('b', 4, 'waiting')])
  expect(withNews(row, latest).state).toBe('failed')
  expect(withNews({ ...row, seq: 5 }, latest).state).toBe('running')
  expect(withNews({ ...row, id: 'z' }, latest)).toMatchObject({ id: 'z', state: 'running' })
})

test('new runs are those after the newest one shown', () => {
  const latest = remember(new Map(), [news('a', 1, 'x'), news('c', 1, 'x'), news('d', 1, 'x')])
  expect(newSince(latest, 'b')).toBe(2)
})

test('memory of runs is bounded, the newest stay', () => {
  const many = Array.from({ length: 6000 }, (_, at) => news(String(at), 1, 'x'))
  const latest = remember(new Map(), many)
  expect(latest.size).toBe(5000)
  expect(latest.has('5999')).toBe(true)
})
