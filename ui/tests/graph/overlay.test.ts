import { expect, test } from 'vitest'

import { graphOf, pathOf } from '@/graph/definition'
import { drawingOf } from '@/graph/drawing'
import { foldedText, verdictOf } from '@/graph/overlay'
import { applyEvents, type AttemptLite, type TaskLite } from '@/live/model'

const definition = {
  start: 'each',
  nodes: {
    each: { kind: 'foreach', service: 's' },
    sub: { kind: 'subflow', subflow: { start: 'in', nodes: { in: { service: 'x' } }, edges: [] } },
    ask: { kind: 'approval', params: { prompt: 'Sure?' } },
  },
  edges: [
    { from: 'each', to: 'sub' },
    { from: 'sub', action: 'big', to: 'ask' },
  ],
}
const graph = graphOf(definition)
const model = applyEvents({ id: 'r', seq: 0, tasks: new Map(), attempts: new Map(), added: 0 }, [
  {
    seq: 1,
    at: 0,
    data: {
      changes: [
        { task: 'r~each.1', node: 'each', state: 'running' },
        { fanout: 'r~each.1', made: [0, 4], released: 4, total: 4 },
        { task: 'r~each.1~0', node: 'each/*', state: 'succeeded' },
        { task: 'r~each.1~1', node: 'each/*', state: 'failed', error: { message: 'no' } },
        { task: 'r~each.1~2', node: 'each/*', state: 'running' },
      ],
    },
  },
])

test('a definition becomes nodes, groups and labelled edges', () => {
  expect(graph.nodes.map((node) => [node.path, node.parent, node.kind])).toEqual([
    ['each', '', 'foreach'],
    ['sub', '', 'subflow'],
    ['sub/in', 'sub', 'call'],
    ['ask', '', 'approval'],
  ])
  expect(graph.edges[1]).toEqual({ from: 'sub', to: 'ask', label: 'big' })
  expect(graph.nodes[3]?.detail).toBe('Sure?')
  expect(graphOf('nonsense')).toEqual({ nodes: [], edges: [] })
})

test('paths are written as the engine writes them', () => {
  expect(pathOf('', 'a/b c')).toBe('a%2Fb c')
  expect(pathOf('sub', 'x')).toBe('sub/x')
})

test('a fan-out is folded into one line', () => {
  const cell = drawingOf(graph, model, new Set()).cells.get('each')
  expect(cell).toMatchObject({ state: 'running', folded: '×4 ✓1 ✗1 ▶1 …1', foldable: true, failedTask: 'r~each.1~1' })
  expect(foldedText(128, { succeeded: 120, failed: 3, running: 5 })).toBe('×128 ✓120 ✗3 ▶5')
})

test('unfolded, every branch is a box of its own', () => {
  const drawing = drawingOf(graph, model, new Set(['each']))
  expect(drawing.boxes.filter((box) => box.parent === 'each')).toHaveLength(4)
  expect(drawing.cells.get('each#1')).toMatchObject({ state: 'failed', error: 'no' })
})

test('nodes nobody has reached are drawn without a state', () => {
  expect(drawingOf(graph, model, new Set()).cells.get('ask')).toMatchObject({ state: '', task: '' })
})

test('the last verdict is shown until the task is done again', () => {
  const said = (...verdicts: string[]) => {
    const attempts = new Map(verdicts.map((verdict, at) => [`t@${at + 1}`, { verdict } as AttemptLite]))
    return verdictOf({ id: 't', attempts: verdicts.length } as TaskLite, { attempts })
  }
  expect(said('')).toBe('')
  expect(said('', 'rejected')).toBe('rejected')
  expect(said('', 'rejected', '')).toBe('rejected')
  expect(said('', 'rejected', '', 'accepted')).toBe('accepted')
  expect(said('', 'accepted', '')).toBe('')
  expect(said('', 'rejected', '', 'ask')).toBe('')
})

test('a verdict comes with the news of its claim', () => {
  const news = {
    ...{ seq: model.seq + 1, at: 5 },
    data: {
      changes: [
        { attempt: 'r~a.0@1', state: 'succeeded' },
        { task: 'r~a.0', node: 'a', state: 'verifying' },
        { attempt: 'r~a.0@2', state: 'succeeded' },
        { judged: 'r~a.0', verdict: 'rejected' },
      ],
    },
  }
  const after = applyEvents(model, [news])
  expect(after.attempts.get('r~a.0@2')).toMatchObject({ role: 'verify', verdict: 'rejected' })
})
