import { expect, test } from 'vitest'

import type { Run } from '@/api/types'
import { cell, csvOf } from '@/filter/csv'

test.each([
  ['plain', 'plain'],
  ['a,b', '"a,b"'],
  ['say "hi"', '"say ""hi"""'],
  ['two\nlines', '"two\nlines"'],
  ['=cmd()', "'=cmd()"],
  ['-1+2', "'-1+2"],
  [-5, '-5'],
  [null, ''],
])('%j is written %j', (value, text) => {
  expect(cell(value)).toBe(text)
})

test('a run is a line under its head', () => {
  const run = { id: 'r1', flow: 'a,b', version: 2, state: 'failed', createdAt: 0, startedAt: 1000, finishedAt: 3000, failures: 1, error: { message: 'no' } }
  const [head, line, end] = csvOf([{ ...run, createdAt: 1000 } as unknown as Run]).split('\r\n')
  expect(head).toBe('id,flow,version,state,created,started,finished,duration_ms,failures,error')
  expect(line).toBe('r1,"a,b",2,failed,1970-01-01T00:00:01.000Z,1970-01-01T00:00:01.000Z,1970-01-01T00:00:03.000Z,2000,1,no')
  expect(end).toBe('')
})
