import { expect, test } from 'vitest'

import { inputOf } from '@/run/fork'

test('an input that was left as it is is not sent, and one that is no JSON is refused', () => {
  expect(inputOf('{"x": 1}\n', '{"x": 1}')).toEqual({ problem: '' })
  expect(inputOf('{"x": 2}', '{"x": 1}')).toEqual({ input: { x: 2 }, problem: '' })
  expect(inputOf('null', '1')).toEqual({ input: null, problem: '' })
  expect(inputOf('{"x":', '{"x": 1}').problem).not.toBe('')
})
