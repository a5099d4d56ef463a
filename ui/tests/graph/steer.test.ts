import { expect, test } from 'vitest'

import { absolute, reveal, spotAt } from '@/graph/canvas-draw'
import { nextCell } from '@/graph/steer'

const place = (id: string, x: number, y: number, parent = '') => ({ id, parent, x, y, width: 100, height: 40 })
const LAYOUT = {
  placed: [place('b', 200, 0), place('c', 200, 100), place('a', 0, 50), { ...place('box', 400, 0), width: 300, height: 200 }, place('in', 20, 30, 'box')],
  bends: {},
  down: false,
  width: 700,
  height: 200,
}
const spots = absolute(LAYOUT)

test('what lies in a group lies where the group is', () => {
  expect(spots.get('in')).toMatchObject({ absX: 420, absY: 30 })
})

test('arrows lead to the nearest cell that way, and stop at the edge', () => {
  expect(nextCell(spots, 'b', 'ArrowDown')).toBe('c')
  expect(nextCell(spots, 'c', 'ArrowUp')).toBe('b')
  expect(nextCell(spots, 'b', 'ArrowLeft')).toBe('a')
  expect(nextCell(spots, 'a', 'ArrowLeft')).toBe('a')
  expect(nextCell(spots, '', 'ArrowRight')).toBe('a')
  expect([nextCell(spots, 'c', 'Home'), nextCell(spots, 'c', 'End')]).toEqual(['a', 'in'])
})

test('a click finds the innermost cell under it', () => {
  const view = { x: 10, y: 0, zoom: 0.5 }
  expect(spotAt(spots, view, 10 + 430 * 0.5, 40 * 0.5)?.id).toBe('in')
  expect(spotAt(spots, view, 10 + 690 * 0.5, 190 * 0.5)?.id).toBe('box')
  expect(spotAt(spots, view, 10 + 150 * 0.5, 20 * 0.5)).toBeUndefined()
})

test.each([
  { x: 0, y: 0, zoom: 1 },
  { x: -2000, y: 900, zoom: 1 },
  { x: 5000, y: -700, zoom: 0.5 },
])('a cell that is gone to is seen whole: %j', (view) => {
  const spot = spots.get('c')
  if (!spot) throw new Error('no c')
  const moved = reveal(view, spot, 800, 600)
  const left = spot.absX * moved.zoom + moved.x
  const top = spot.absY * moved.zoom + moved.y
  expect(left).toBeGreaterThanOrEqual(40)
  expect(left + spot.width * moved.zoom).toBeLessThanOrEqual(760)
  expect(top).toBeGreaterThanOrEqual(40)
  expect(top + spot.height * moved.zoom).toBeLessThanOrEqual(560)
  expect(reveal(moved, spot, 800, 600)).toEqual(moved)
})
