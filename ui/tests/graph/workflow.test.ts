import { expect, test } from 'vitest'

import { graphOf } from '@/graph/definition'

const pack = { name: 'kit', version: '1.0.0' }
const inner = { nodes: [{ id: 'n', type: 'kit.n', label: 'Inside', package: pack }], edges: [] }
const definition = {
  id: 'w',
  nodes: [
    { id: 'a', type: 'kit.a', label: 'First', package: pack },
    { id: 'box', type: 'workflow.container', label: 'Box', parameters: { __container: { subgraphId: 'g' } } },
    {
      id: 'loop',
      type: 'workflow.container',
      label: 'Loop',
      parameters: { __container: { subgraphId: 'g', loop: { enabled: true } } },
    },
    { id: 'm', type: 'kit.m', label: 'Guarded', package: pack, middlewares: [{ id: 'x', type: 'kit.x', label: 'Guard' }] },
  ],
  edges: [
    { id: 'e', source: { node: 'a', port: 'out' }, target: { node: 'box', port: 'in' } },
    { id: 'f', source: { node: 'box', port: 'out' }, target: { node: 'm', port: 'in' } },
  ],
  subgraphs: [{ id: 'g', definition: inner }],
}

test('a workflow is drawn with its labels, packages, containers and middlewares', () => {
  const graph = graphOf(definition)
  expect(graph.nodes.map((node) => [node.path, node.name, node.parent, node.group])).toEqual([
    ['a', 'First', '', false],
    ['box', 'Box', '', true],
    ['box/n', 'Inside', 'box', false],
    ['loop', 'Loop', '', true],
    ['loop/body/n', 'Inside', 'loop', false],
    ['m', 'Guarded', '', true],
    ['m/x', 'Guard', 'm', false],
    ['m/host', 'Guarded', 'm', false],
  ])
  expect([graph.nodes[0]?.detail, graph.nodes[0]?.note]).toEqual(['kit.a', 'kit@1.0.0'])
  expect(graph.edges.map((edge) => [edge.from, edge.to])).toEqual([
    ['m/x', 'm/host'],
    ['a', 'box'],
    ['box', 'm'],
  ])
  expect(graph.nodes.filter((node) => node.start).map((node) => node.path)).toEqual(['a', 'box/n', 'loop', 'loop/body/n', 'm/x'])
})

test('a workflow that makes no sense draws nothing and breaks nothing', () => {
  expect(graphOf({ nodes: ['x', null], edges: 'no', subgraphs: [{ id: 'g' }] })).toEqual({ nodes: [], edges: [] })
})
