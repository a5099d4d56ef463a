import { expect, test } from 'vitest'

import { fits, fitting } from '@/pages/bulk-work'
import { renewAt } from '@/shell/session'

test('an act is offered only where it makes sense', () => {
  const of = (state: string) => (['cancel', 'retry', 'rerun', 'delete'] as const).filter((act) => fits(act, { state }))
  expect(of('waiting')).toEqual(['cancel', 'rerun'])
  expect(of('failed')).toEqual(['retry', 'rerun', 'delete'])
  expect(of('succeeded')).toEqual(['rerun', 'delete'])
})

test('a filter is narrowed to what an act makes sense for', () => {
  expect(fitting('retry', 'flow:a')).toBe('flow:a status:failed')
  expect(fitting('rerun', 'flow:a')).toBe('flow:a')
})

test('a session is renewed well before it ends', () => {
  expect(renewAt({ accessToken: 'x', expiresIn: 900 }, 1000)).toBe(1000 + 540_000)
})
