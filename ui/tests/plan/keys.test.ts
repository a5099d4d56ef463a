import { expect, test } from 'vitest'

import { firstKey, treeOf } from '@/plan/keys'

const entry = (key: string) => ({ key, revision: 1, writer: 'run', writerId: '', attemptId: '', deleted: false, payload: 1, at: 1 })

test('keys stand below their run or task, whose id may have dots', () => {
  const tree = treeOf([entry('bb.run.R.context.goal'), entry('bb.task.R~draft.0.result.summary'), entry('bb.task.R~draft.0.result.text')])
  expect(tree.map((top) => top.task)).toEqual(['', 'R~draft.0'])
  expect(tree[1]?.below).toMatchObject([{ name: 'result', below: [{ name: 'summary' }, { name: 'text' }] }])
})

test('a branch with one thing below it is one line, unless it has a value itself', () => {
  const [top] = treeOf([entry('bb.task.T.progress'), entry('bb.task.T.progress.pages'), entry('bb.task.T.result.summary')])
  expect(top?.below).toMatchObject([{ name: 'progress', below: [{ name: 'pages' }] }, { name: 'result.summary' }])
})

test('a key of another shape is shown all the same', () => {
  expect(treeOf([entry('odd.key')])[0]?.below).toMatchObject([{ name: 'odd.key' }])
})

test('the first key there is is shown first', () => {
  expect(firstKey(treeOf([entry('bb.run.R.context.goal'), entry('bb.task.T.result.summary')]))).toBe('bb.run.R.context.goal')
  expect(firstKey([])).toBe('')
})
