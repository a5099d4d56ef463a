import { describe, expect, test } from 'vitest'

import { type Box, layersOf, layout, type Placed, type Wire } from '@/graph/layout'

const box = (id: string, parent = '', group = false): Box => ({ id, parent, width: 100, height: 40, group })

function graph(seed: number, count: number): { boxes: Box[]; wires: Wire[] } {
  let state = seed
  const next = () => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647
  const boxes = Array.from({ length: count }, (_, at) => box(`n${at}`))
  const wires: Wire[] = []
  for (let at = 1; at < count; at += 1) {
    for (let edge = 0; edge < 1 + next() * 2; edge += 1) {
      wires.push({ from: `n${Math.floor(next() * at)}`, to: `n${at}` })
    }
    // Now and then a loop, as flows may have.
    if (next() < 0.05) wires.push({ from: `n${at}`, to: `n${Math.floor(next() * at)}` })
  }
  return { boxes, wires }
}

function overlap(a: Placed, b: Placed): boolean {
  return a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height
}

describe.each(Array.from({ length: 20 }, (_, seed) => seed + 1))('seed %i', (seed) => {
  test('boxes do not overlap and every box has a place', () => {
    const { boxes, wires } = graph(seed, 60)
    const { placed } = layout(boxes, wires)
    expect(placed).toHaveLength(60)
    placed.forEach((a, at) => placed.slice(at + 1).forEach((b) => expect(overlap(a, b)).toBe(false)))
  })

  test('without loops every edge goes right', () => {
    const { boxes, wires } = graph(seed, 40)
    const forward = wires.filter((wire) => Number(wire.from.slice(1)) < Number(wire.to.slice(1)))
    const at = new Map(layout(boxes, forward).placed.map((place) => [place.id, place.x]))
    for (const wire of forward) expect(at.get(wire.to)!).toBeGreaterThan(at.get(wire.from)!)
  })
})

test('a loop is laid out too', () => {
  const boxes = ['a', 'b', 'c'].map((id) => box(id))
  const wires = [
    { from: 'a', to: 'b' },
    { from: 'b', to: 'c' },
    { from: 'c', to: 'a' },
    { from: 'b', to: 'b' },
  ]
  expect(layersOf(boxes, wires)).toEqual([['a'], ['b'], ['c']])
})

test('a group is as large as what lies in it', () => {
  const boxes = [box('a'), box('g', '', true), box('x', 'g'), box('y', 'g'), box('z')]
  const wires = [
    { from: 'a', to: 'g' },
    { from: 'x', to: 'y' },
    { from: 'g', to: 'z' },
  ]
  const at = new Map(layout(boxes, wires).placed.map((place) => [place.id, place]))
  const group = at.get('g')!
  for (const inner of [at.get('x')!, at.get('y')!]) {
    expect(inner.parent).toBe('g')
    expect(inner.x + inner.width).toBeLessThanOrEqual(group.width)
    expect(inner.y + inner.height).toBeLessThanOrEqual(group.height)
  }
  expect(at.get('z')!.x).toBeGreaterThanOrEqual(group.x + group.width)
})

test('an edge over several layers passes beside the nodes between', () => {
  const boxes = ['a', 'b', 'c'].map((id) => box(id))
  const wires = [
    { from: 'a', to: 'b' },
    { from: 'b', to: 'c' },
    { from: 'a', to: 'c' },
  ]
  const found = layout(boxes, wires)
  const between = found.placed.find((place) => place.id === 'b')!
  const [[, y]] = found.bends['a\nc'] as [[number, number]]
  expect(y < between.y || y > between.y + between.height).toBe(true)
})

test('ten thousand nodes take less than two seconds', () => {
  const { boxes, wires } = graph(7, 10_000)
  const began = performance.now()
  layout(boxes, wires)
  expect(performance.now() - began).toBeLessThan(2000)
})

test('a ribbon is turned to go down the page where it would not fit', () => {
  const ids = Array.from({ length: 12 }, (_, at) => `n${at}`)
  const boxes = ids.map((id) => box(id))
  const wires = ids.slice(1).map((to, at) => ({ from: ids[at]!, to }))
  const found = layout(boxes, wires, 1000)
  expect(found.down).toBe(true)
  expect(found.height).toBeGreaterThan(found.width)
  expect(layout(boxes, wires).down).toBe(false)
  expect(layout(boxes.slice(0, 3), wires.slice(0, 2), 1000).down).toBe(false)
})
