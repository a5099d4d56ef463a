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

test('the last verdict is told by what followed it', () => {
  const said = (state: string, ...roles: string[]) => {
    const attempts = new Map(roles.map((role, at) => [`t@${at + 1}`, { role } as AttemptLite]))
    return verdictOf({ id: 't', state, attempts: roles.length } as TaskLite, { attempts })
  }
  expect(said('running', 'work')).toBe('')
  expect(said('verifying', 'work', 'verify')).toBe('')
  expect(said('running', 'work', 'verify', 'work')).toBe('rejected')
  expect(said('succeeded', 'work', 'verify', 'work', 'verify')).toBe('accepted')
  expect(said('failed', 'work', 'verify')).toBe('rejected')
})
