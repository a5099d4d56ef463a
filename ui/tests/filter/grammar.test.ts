import { expect, test } from 'vitest'

import { parseFilter, suggestions, withKey, without } from '@/filter/grammar'

test.each([
  ['', 0],
  ['hello', 1],
  ['status:failed,waiting flow:review-* started:>-2h -status:cancelled error:"time out" abc', 6],
  ['updated:<=1794737995325', 1],
  ['  error:"say \\"no\\""  ', 1],
])('reads %s', (text, count) => {
  const parsed = parseFilter(text)
  expect(parsed.problem).toBe('')
  expect(parsed.words).toHaveLength(count)
})

test.each([
  ['colour:red', 'no filter "colour:"'],
  ['status:broken', 'no status "broken"'],
  ['-flow:x', 'only "-status:" can be negated'],
  ['started:2h', 'needs a comparison'],
  ['error:"open', 'close the quote'],
])('refuses %s as the server would', (text, reason) => {
  expect(parseFilter(text).problem).toContain(reason)
})

test('quotes are taken off values', () => {
  expect(parseFilter('error:"say \\"no\\""').words[0]).toMatchObject({ key: 'error', value: 'say "no"' })
})

test('words are removed and keys set without touching the rest', () => {
  const text = 'status:failed  flow:x error:"a b"'
  const [first] = parseFilter(text).words
  expect(without(text, first!)).toBe('flow:x error:"a b"')
  expect(withKey(text, 'flow', 'y z')).toBe('status:failed error:"a b" flow:"y z"')
  expect(withKey(text, 'flow', '')).toBe('status:failed error:"a b"')
})

test('suggests keys, states, flows and spans', () => {
  expect(suggestions('sta', 3, [])).toEqual(['status:', 'started:'])
  expect(suggestions('status:failed,wa', 16, [])).toEqual(['status:failed,waiting'])
  expect(suggestions('flow:re', 7, ['review', 'other'])).toEqual(['flow:review'])
  expect(suggestions('x started:', 10, [])).toContain('started:>-24h')
})
