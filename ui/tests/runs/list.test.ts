import { expect, test } from 'vitest'

import type { Run } from '@/api/types'
import { nextSort, readColumns, sortRuns, tracks, USUAL } from '@/runs/columns'
import { slicesOf, withRange } from '@/runs/histogram'

function run(id: string, createdAt: number, change: Partial<Run> = {}): Run {
  return { id, flow: 'f', state: 'succeeded', createdAt, finishedAt: createdAt + 10, failures: 0, open: 0, priority: 0, ...change } as Run
}

test('columns keep the order of the table, and none are the usual ones', () => {
  expect(readColumns(['now', 'run', 'nonsense'])).toEqual(['run', 'now'])
  expect(readColumns([])).toEqual(USUAL)
  expect(tracks(['run']).split(' ')).toHaveLength(4)
})

test('a heading sorts up, then down, then not at all', () => {
  expect(nextSort('', 'flow')).toBe('flow')
  expect(nextSort('flow', 'flow')).toBe('-flow')
  expect(nextSort('-flow', 'flow')).toBe('')
})

test('numbers are sorted as numbers, and what still runs is as long as it is now', () => {
  const runs = [run('a', 0, { finishedAt: 90 }), run('b', 0, { finishedAt: 1000 }), run('c', 0, { finishedAt: null })]
  expect(sortRuns(runs, 'duration', 500).map((one) => one.id)).toEqual(['a', 'c', 'b'])
  expect(sortRuns(runs, '-duration', 500).map((one) => one.id)).toEqual(['b', 'c', 'a'])
  expect(sortRuns(runs, 'nonsense', 500)).toBe(runs)
})

test('every run is in one slice, the last one too', () => {
  const runs = [run('a', 1000), run('b', 50_000, { state: 'failed' }), run('c', 100_000)]
  const slices = slicesOf(runs)
  expect(slices.reduce((sum, one) => sum + one.failed + one.other, 0)).toBe(3)
  expect(slices.reduce((sum, one) => sum + one.failed, 0)).toBe(1)
  expect(slicesOf([run('a', 1), run('b', 2)])).toEqual([])
})

test('a brushed time replaces the one that was brushed before', () => {
  expect(withRange('flow:a', 5, 9)).toBe('flow:a created:>=5 created:<=9')
  expect(withRange('created:>=1 flow:a created:<=2', 5, 9)).toBe('flow:a created:>=5 created:<=9')
})
