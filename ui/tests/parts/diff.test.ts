import { expect, test } from 'vitest'

import { diffJson, diffLines, folded } from '@/parts/diff'

const text = (kind: string, lines: { kind: string; text: string }[]) =>
  lines.filter((line) => line.kind === 'same' || line.kind === kind).map((line) => line.text)

test('the order of keys is no difference', () => {
  expect(diffJson({ a: 1, b: 2 }, { b: 2, a: 1 }).every((line) => line.kind === 'same')).toBe(true)
})

test('both sides can be read back from a difference', () => {
  const a = ['1', '2', '3', '4', '6']
  const b = ['1', '3', '4', '5', '6', '7']
  const lines = diffLines(a, b)
  expect(text('removed', lines)).toEqual(a)
  expect(text('added', lines)).toEqual(b)
})

test('long stretches without a change are folded', () => {
  const a = Array.from({ length: 100 }, (_, at) => String(at))
  const lines = folded(diffLines(a, [...a, 'new']))
  expect(lines.map((line) => line.text)).toEqual(['⋯ 97', '97', '98', '99', 'new'])
})
