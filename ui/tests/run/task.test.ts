import { expect, test } from 'vitest'

import { marked } from '@/run/log-lines'
import { progressOf, progressText } from '@/run/progress'
import { clampWidth, WIDTH_MAX, WIDTH_MIN, widthAfter } from '@/run/resizer'

test('what is looked for is marked, whatever the case', () => {
  expect(marked('Two two', 'two')).toEqual(['', 'Two', ' ', 'two', ''])
  expect(marked('plain', '')).toEqual(['plain'])
})

test.each(['a+b', '(', '\\', '.*'])('what is looked for is text and no pattern: %s', (find) => {
  expect(marked(`x${find}`, find)).toEqual(['x', find, ''])
})

test('progress is that of tasks that run', () => {
  const found = progressOf({
    nodes: [
      { taskId: 'r~a.0@2', status: 'running', state: { progress: 0.416, message: 'half way' } },
      { taskId: 'r~b.0@1', status: 'running', state: { progress: null, stage: 'warming up' } },
      { taskId: 'r~c.0@1', status: 'succeeded', state: { progress: 1 } },
      { taskId: 'uuid', status: 'queued' },
    ],
  })
  expect([...found.keys()]).toEqual(['r~a.0', 'r~b.0'])
  expect([...found.values()].map(progressText)).toEqual(['42 % · half way', 'warming up'])
  expect(progressOf({}).size).toBe(0)
})

test('the task is never too narrow to read nor so wide that nothing else is seen', () => {
  expect([clampWidth(10), clampWidth(460.4), clampWidth(9000)]).toEqual([WIDTH_MIN, 460, WIDTH_MAX])
  expect(widthAfter('ArrowLeft', 460)).toBe(480)
  expect(widthAfter('ArrowRight', WIDTH_MIN)).toBe(WIDTH_MIN)
  expect([widthAfter('Home', 460), widthAfter('End', 460), widthAfter('a', 460)]).toEqual([WIDTH_MAX, WIDTH_MIN, null])
})
