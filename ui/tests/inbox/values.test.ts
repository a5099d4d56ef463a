import { expect, test } from 'vitest'

import { inShort, keyValues, saysAll } from '@/inbox/values'

const bill = { customer: 'Müller GmbH', amount: 900, tags: ['a', 'b'], lines: [{ net: 1 }] }

test('values that fit a line are rows, deeper ones are not', () => {
  expect(keyValues(bill).map((one) => [one.name, one.text])).toEqual([
    ['customer', 'Müller GmbH'],
    ['amount', '900'],
    ['tags', '["a","b"]'],
  ])
  expect(saysAll(bill)).toBe(false)
  expect(saysAll({ amount: 900 })).toBe(true)
  expect(saysAll([1, 2])).toBe(false)
})

test('a row of the list is told apart by its values', () => {
  expect(inShort(bill)).toBe('Müller GmbH · 900 · ["a","b"]')
  expect(inShort('a plain word')).toBe('a plain word')
  expect(inShort(null)).toBe('')
})
