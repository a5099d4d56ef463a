import { describe, expect, it } from 'vitest'
import type { Revision } from '@/api/types'
import { graphOf } from '@/graph/definition'
import { grown } from '@/graph/grown'

const revision = (given: Partial<Revision>): Revision => ({
  ...{ revision: 1, at: 0, author: '', reason: '', added: [], dropped: [], edges: [], redone: [] },
  ...given,
})

describe('a graph that has grown', () => {
  it('is its definition while nothing was added', () => {
    const graph = graphOf({ nodes: { a: {} }, edges: [] })
    expect(grown(graph, [], 'flow')).toBe(graph)
  })

  it('shows the tasks of a plan inside it, and what they wait for', () => {
    const first = revision({ added: ['plan/a', 'plan/b'], edges: [['plan/a', 'plan/b']] })
    const { nodes, edges } = grown(graphOf({}), [first], 'plan')
    expect(nodes.map((node) => [node.path, node.parent, node.start])).toEqual([
      ['plan', '', true],
      ['plan/a', 'plan', true],
      ['plan/b', 'plan', false],
    ])
    expect(nodes[0]?.group).toBe(true)
    expect(edges).toEqual([{ from: 'plan/a', to: 'plan/b', label: '' }])
  })

  it('leaves out what a later plan dropped, with its edges', () => {
    const first = revision({ added: ['plan/a', 'plan/b'], edges: [['plan/a', 'plan/b']] })
    const second = revision({ revision: 2, dropped: ['plan/b'], added: ['plan/c'], edges: [['plan/a', 'plan/c']] })
    const { nodes, edges } = grown(graphOf({}), [first, second], 'plan')
    expect(nodes.map((node) => node.name)).toEqual(['plan', 'a', 'c'])
    expect(edges.map((edge) => edge.to)).toEqual(['plan/c'])
  })
})
