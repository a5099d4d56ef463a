import { expect, test } from 'vitest'

import { graphOf, pathOf } from '@/graph/definition'
import { asWritten, Names, plainNode } from '@/graph/names'
import { withPlaces } from '@/graph/workflow'

const A = 'ba55c67a-9ad4-4b6f-a719-b84e774c2d11'
const BOX = '2b2c3fcb-9c18-4ca2-9b5a-8ad4deb1f164'
const IN = '8f5dea1f-6a13-4e43-843f-5361c40f8f5a'
const definition = {
  nodes: [
    { id: A, type: 'kit.a', label: 'Open page', middlewares: [{ id: 'guard', type: 'kit.g', label: 'Guard' }] },
    { id: BOX, type: 'workflow.container', label: 'Box', parameters: { __container: { subgraphId: 'g', loop: { enabled: true } } } },
  ],
  edges: [{ source: { node: A }, target: { node: BOX }, condition: { path: 'results.n', gte: 2 } }],
  subgraphs: [{ id: 'g', definition: { nodes: [{ id: IN, type: 'kit.n', label: 'Inside' }], edges: [] } }],
}
const graph = graphOf(definition)
const names = new Names(graph)

test('paths read as labels', () => {
  expect(names.of(A)).toBe('Open page')
  expect(names.of(`${A}/guard`)).toBe('Open page/Guard')
  expect(names.of(`${A}/host`)).toBe('Open page')
  expect(names.of(`${BOX}/body/${IN}`)).toBe('Box/Inside')
  expect(names.of(`${BOX}/again`)).toBe('Box/again')
})

test('tasks of a workflow read as labels, those of a flow as the CLI writes them', () => {
  expect(names.ofTask(`r~${BOX}.0~body.1~${IN}.0`)).toBe('Box/Inside')
  expect(names.ofTask(`r~${BOX}.0~3`)).toBe('Box[3]')
  expect(new Names().ofTask('r~fetch.1~7')).toBe('fetch.1~7')
})

test('flows keep the names they have', () => {
  const flow = new Names(graphOf({ start: 'a', nodes: { a: { kind: 'subflow', subflow: { start: 'host', nodes: { host: {} } } } }, edges: [] }))
  expect(flow.of('a/host')).toBe('a/host')
  expect(flow.of('unknown/*')).toBe('unknown/*')
})

test('an id alone is no name', () => {
  expect([plainNode('fetch'), plainNode(A), plainNode(`${BOX}/${IN}`), plainNode(undefined)]).toEqual(['fetch', '', '', ''])
})

test('an edge with a condition wears a sign and says it on request', () => {
  expect(graph.edges.at(-1)).toMatchObject({ label: '◇', hint: 'results.n gte 2' })
})

test('the run tells which versions were taken', () => {
  const noted = withPlaces(graph, [{ path: A, package: 'kit', version: '3.1.0' }])
  expect(noted.nodes.find((node) => node.path === A)?.note).toBe('kit@3.1.0')
})

test('tasks of a plan are called by their aliases', () => {
  const plan = new Names(graphOf({ nodes: {}, edges: [] }), true)
  expect([plan.of('plan'), plan.of('plan/check'), plan.ofTask('r~plan.0'), plan.ofTask('r~plan.0~check.0')]).toEqual(['plan', 'check', 'plan', 'check'])
})

test('names in other scripts, with a slash or with marks read as they were written', () => {
  expect(['%E8%8A%82', 'sub/in%2Fout', '50%', '%FF'].map(asWritten)).toEqual(['节', 'sub/in/out', '50%', '%FF'])
  expect(plainNode('%E8%8A%82')).toBe('节')
  expect(new Names().ofTask('r~%E8%8A%82.1~3')).toBe('节.1~3')
})

test('a node is looked up by the path the engine gives it', () => {
  expect(["it's", 'wow!', 'a*b', 'a (b)', '节', 'a/b', 'a:b@c+d,e'].map((key) => pathOf('', key))).toEqual(['it%27s', 'wow%21', 'a%2Ab', 'a (b)', '%E8%8A%82', 'a%2Fb', 'a:b@c+d,e'])
})
