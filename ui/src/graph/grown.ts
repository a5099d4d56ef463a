/** A run's graph as it has grown: its definition's, and what its revisions added and dropped. */
import type { Revision } from '@/api/types'
import type { FlowGraph, GraphNode } from './definition'

/** Where the tasks of a plan stand: below the one node of its definition. */
const PLAN = 'plan'

export function grown(graph: FlowGraph, revisions: readonly Revision[], dialect: string): FlowGraph {
  if (dialect !== 'plan' && revisions.length === 0) return graph
  const nodes = new Map(graph.nodes.map((node) => [node.path, node]))
  let edges = graph.edges
  if (dialect === 'plan') nodes.set(PLAN, nodeAt(PLAN, PLAN, revisions.length > 0))
  for (const { added, dropped, edges: led } of revisions) {
    const gone = (path: string) => dropped.some((top) => path === top || path.startsWith(`${top}/`))
    for (const path of [...nodes.keys()]) if (gone(path)) nodes.delete(path)
    edges = edges.filter((edge) => !gone(edge.from) && !gone(edge.to))
    for (const path of added) nodes.set(path, nodeAt(path, 'call', false))
    edges = [...edges, ...led.map(([from, to]) => ({ from: String(from), to: String(to), label: '' }))]
  }
  const targets = new Set(edges.map((edge) => edge.to))
  return {
    nodes: [...nodes.values()].map((node) => (node.parent ? { ...node, start: !targets.has(node.path) } : node)),
    edges,
  }
}

function nodeAt(path: string, kind: string, group: boolean): GraphNode {
  const cut = path.lastIndexOf('/')
  const name = decodeURIComponent(path.slice(cut + 1))
  return { path, name, kind, detail: '', start: cut < 0, parent: cut < 0 ? '' : path.slice(0, cut), group }
}
