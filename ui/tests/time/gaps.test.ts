import { describe, expect, test } from 'vitest'

import { idleGaps, type Span, tickStep, timeMap } from '@/time/gaps'

/** A small generator with a seed, so a failure can be repeated. */
function random(seed: number): () => number {
  let state = seed
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return state / 2_147_483_648
  }
}

function spans(seed: number): Span[] {
  const next = random(seed)
  let at = 1_000_000
  return Array.from({ length: 2 + Math.floor(next() * 20) }, () => {
    at += next() < 0.3 ? next() * 5_000_000 : next() * 2000
    const from = at
    at += next() * 10_000
    return { from, to: at }
  })
}

describe.each(Array.from({ length: 50 }, (_, seed) => seed + 1))('seed %i', (seed) => {
  const given = spans(seed)
  const from = given[0]!.from
  const to = given.at(-1)!.to
  const map = timeMap(given, from, to, true)

  test('is monotone, invertible and keeps lengths outside cuts', () => {
    let last = -1
    for (let step = 0; step <= 500; step += 1) {
      const time = from + ((to - from) * step) / 500
      const x = map.toX(time)
      expect(x).toBeGreaterThanOrEqual(last)
      expect(Math.abs(map.toTime(x) - time)).toBeLessThan(1)
      last = x
    }
    for (const span of given) expect(map.toX(span.to) - map.toX(span.from)).toBeCloseTo(span.to - span.from, 3)
  })

  test('cuts only where nothing runs', () => {
    for (const cut of map.cuts) {
      expect(given.some((span) => span.from < cut.to && span.to > cut.from)).toBe(false)
      expect(cut.width).toBeLessThan(cut.to - cut.from)
    }
    expect(map.toX(to)).toBeCloseTo(map.length, 3)
  })
})

test('without compression the map is the identity', () => {
  const map = timeMap([{ from: 0, to: 1 }], 0, 1_000_000, false)
  expect(map.cuts).toEqual([])
  expect(map.toX(123_456)).toBe(123_456)
})

test('a gap within one lane only is not idle', () => {
  const lanes = [
    { from: 0, to: 100_000 },
    { from: 10, to: 20 },
    { from: 90_000, to: 100_000 },
  ]
  expect(idleGaps(lanes, 0, 100_000)).toEqual([])
})

test('ticks are round', () => {
  expect(tickStep(1000, 10)).toBe(100)
  expect(tickStep(3_600_000, 8)).toBe(600_000)
})
