import { expect, test } from 'vitest'

import { fieldsOf, typedValue } from '@/flow/fields'

const fields = fieldsOf({
  type: 'object',
  required: ['name'],
  properties: {
    count: { type: 'integer', default: 3 },
    name: { type: 'string', title: 'Customer', description: 'As on the bill' },
    fast: { type: 'boolean' },
    tier: { enum: ['small', 'large'] },
    rows: { type: 'array' },
  },
})
const field = (name: string) => fields.find((one) => one.name === name)!

test('every declared parameter is a field of its type, those that are required first', () => {
  expect(fields.map((one) => [one.name, one.kind])).toEqual([
    ['name', 'text'],
    ['count', 'number'],
    ['fast', 'boolean'],
    ['tier', 'choice'],
    ['rows', 'json'],
  ])
  expect(field('name')).toMatchObject({ title: 'Customer', hint: 'As on the bill', required: true })
  expect(field('count')).toMatchObject({ preset: '3', integer: true })
})

test('what is typed has the declared type', () => {
  expect(typedValue(field('name'), '42')).toBe('42')
  expect(typedValue(field('count'), '42')).toBe(42)
  expect(typedValue(field('fast'), 'false')).toBe(false)
  expect(typedValue(field('tier'), 'large')).toBe('large')
  expect(typedValue(field('rows'), '[1, 2]')).toEqual([1, 2])
})

test('what is left empty leaves its default to the server', () => {
  expect(typedValue(field('count'), '')).toBeUndefined()
  expect(typedValue(field('fast'), '')).toBeUndefined()
})

test('a schema that declares nothing makes no fields', () => {
  expect(fieldsOf(null)).toEqual([])
  expect(fieldsOf({ type: 'object' })).toEqual([])
})
