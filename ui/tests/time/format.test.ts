import { expect, test } from 'vitest'

import { formatSpan, formatTick, formatTime } from '@/time/format'

const AT = Date.UTC(2026, 10, 15, 9, 14, 2)

test.each([
  [340, '340ms'],
  [4200, '4.2s'],
  [65_000, '1m 05s'],
  [4_560_000, '1h 16m'],
  [273_600_000, '3d 4h'],
])('%i ms is %s', (ms, text) => expect(formatSpan(ms)).toBe(text))

test('a time says its zone, and its day when that is not today', () => {
  expect(formatTime(AT, 'utc', 'en-GB', AT)).toBe('09:14:02 UTC')
  expect(formatTime(AT, 'utc', 'en-GB', AT + 86_400_000)).toBe('15 Nov, 09:14:02 UTC')
  expect(formatTime(AT, 'relative', 'en-GB', AT + 120_000)).toContain('2')
})

test('ticks get finer with the step', () => {
  expect(formatTick(AT, 60_000, 'utc', 'en-GB')).toBe('09:14')
  expect(formatTick(AT, 1000, 'utc', 'en-GB')).toBe('09:14:02')
})
