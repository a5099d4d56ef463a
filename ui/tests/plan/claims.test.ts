import { expect, test } from 'vitest'

import { evidenceOf } from '@/plan/claims'

test('what a verdict goes by is all that is not the verdict itself', () => {
  expect(evidenceOf({ verdict: 'accepted', summary: 'fine' })).toBeNull()
  expect(evidenceOf({ verdict: 'rejected', failure_class: 'wrong', request_replan: true, checks: [1] })).toEqual({ checks: [1] })
})
