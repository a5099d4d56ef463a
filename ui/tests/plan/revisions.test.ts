import { expect, test } from 'vitest'

import { stepsOf } from '@/plan/revisions'

const made = (revision: number, added: string[], dropped: string[] = []) => ({
  ...{ revision, at: revision, author: '', reason: 'replan', edges: [], redone: [] },
  ...{ added, dropped },
})

test('a revision tells what came, what stayed and what was given up', () => {
  const [, second] = stepsOf([made(1, ['plan/a', 'plan/b', 'plan/b/x']), made(2, ['plan/c'], ['plan/b'])])
  expect(second).toMatchObject({ added: ['plan/c'], kept: ['plan/a'], superseded: ['plan/b', 'plan/b/x'] })
})

test('what was given up and made anew is both', () => {
  const [, second] = stepsOf([made(1, ['plan/a']), made(2, ['plan/a'], ['plan/a'])])
  expect(second).toMatchObject({ added: ['plan/a'], kept: [], superseded: ['plan/a'] })
})
