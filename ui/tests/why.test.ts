import { expect, test } from 'vitest'

import { whyInChinese } from '@/i18n/why'

test.each([
  ['"publish_ok" waits for a person to answer', '"publish_ok" 等待人工答复'],
  ['"a" runs on w-1 (attempt 2, lease for 3 s more, asked to stop) (and 4 more)', '"a" 正在 w-1 上运行（第 2 次尝试，租约还剩 3 秒，已请求停止）（另有 4 个）'],
  ['"a" is queued for 5 s: no live pull worker serves "transform"', '"a" 已排队 5 秒：没有在线的 pull 工作进程提供 "transform"'],
  ['"a" is queued for 2 s: it belongs to worker w1, which is busy', '"a" 已排队 2 秒：它属于工作进程 w1，该进程正忙'],
  ['"a" is queued for 2 s: none of 3 workers on the link has kit@1.0.0 (and 1 more)', '"a" 已排队 2 秒：link 上的 3 个工作进程都没有 kit@1.0.0（另有 1 个）'],
  ['being cancelled: "hold" waits for signal "go"', '正在取消："hold" 等待信号 "go"'],
  ['failed at "second": bad input', '在 "second" 失败：bad input'],
  ['succeeded, with 2 failed tasks on the way', '成功，途中有 2 个任务失败'],
  ['waits for a node', '等待节点'],
  ['waits for a node: 0/3 nodes are available', '等待节点: 0/3 nodes are available'],
  ['waits on node n1: ContainerCreating', '在节点 n1 上等待： ContainerCreating'],
  ['something new the server says', 'something new the server says'],
])('%s', (english, chinese) => {
  expect(whyInChinese(english)).toBe(chinese)
})
