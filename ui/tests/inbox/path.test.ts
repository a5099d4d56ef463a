import { expect, test } from 'vitest'

import type { Task } from '@/api/types'
import { stepsBefore } from '@/inbox/path'

const task = (id: string, node: string, finishedAt: number | null, step = 0) => ({ id, node, finishedAt, step, state: 'succeeded' }) as Task

test('the steps before a question are in the order they ended, without branches and what came later', () => {
  const tasks = [
    task('r~ask.3', 'ask', 30, 3),
    task('r~each.2', 'each', 20, 2),
    task('r~each.2~0', 'each/*', 15),
    task('r~first.1', 'first', 10, 1),
    task('r~later.4', 'later', 99, 4),
    task('r~open.5', 'open', null, 5),
  ]
  expect(stepsBefore(tasks, { taskId: 'r~ask.3', createdAt: 25 }).map((one) => one.node)).toEqual(['first', 'each'])
})
