import { expect, test } from 'vitest'

import { sortedJson } from '@/parts/diff'

test('the order of keys is no difference', () => {
  expect(sortedJson({ a: 1, b: { d: 2, c: [3] } })).toBe(sortedJson({ b: { c: [3], d: 2 }, a: 1 }))
})

test('what is nothing reads as null', () => {
  expect(sortedJson(undefined)).toBe('null')
})
