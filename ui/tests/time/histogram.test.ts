import { expect, test } from 'vitest'

import { histogram } from '@/time/histogram'

test('every length is counted once, in the step it falls into', () => {
  const lengths = [0, 99, 100, 5000, 10_000, 400_000_000]
  const steps = histogram(lengths)
  expect(steps.reduce((sum, step) => sum + step.count, 0)).toBe(lengths.length)
  expect(steps[0]).toEqual({ from: 0, to: 100, count: 2 })
  expect(steps.at(-1)).toEqual({ from: 86_400_000, to: Infinity, count: 1 })
})

test('empty steps at the ends are left out, those between are not', () => {
  expect(histogram([400, 40_000]).map((step) => step.count)).toEqual([1, 0, 0, 0, 1])
  expect(histogram([])).toEqual([])
})
