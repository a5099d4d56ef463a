/** A workflow as a graph to draw: its nodes by id, what is inside containers, middlewares before their node. */
import { type FlowGraph, isObject, type Json, pathOf } from './definition'
import { portsOf } from './ports'

const DEPTH_MAX = 20
/** What the engine calls a node behind its middlewares, and an iteration of a loop. */
const HOST = 'host'
const BODY = 'body'

export function workflowGraph(definition: Json): FlowGraph {
  const graph: FlowGraph = { nodes: [], edges: [] }
  const subgraphs = new Map<string, Json>()
  collect(definition, subgraphs)
  addBody(graph, definition, '', '', subgraphs, 0)
  return graph
}

export interface PlaceNote {
  path: string
  package: string
  version: string
}

/** The graph with the versions the run took; a definition may leave them open. */
export function withPlaces(graph: FlowGraph, places: readonly PlaceNote[]): FlowGraph {
  if (places.length === 0) return graph
  const notes = new Map(places.filter((one) => one.package).map((one) => [one.path, `${one.package}@${one.version}`]))
  return { ...graph, nodes: graph.nodes.map((node) => ({ ...node, note: notes.get(node.path) ?? node.note })) }
}

function objects(value: unknown): Json[] {
  return Array.isArray(value) ? (value as unknown[]).filter(isObject) : []
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

/** Subgraphs may bring subgraphs of their own; all of them are known everywhere. */
function collect(definition: Json, found: Map<string, Json>): void {
  for (const item of objects(definition.subgraphs)) {
    if (!isObject(item.definition)) continue
    found.set(text(item.id), item.definition)
    collect(item.definition, found)
  }
}

function cardOf(node: Json) {
  const used = isObject(node.package) ? node.package : {}
  const note = [text(used.name), text(used.version)].filter(Boolean).join('@')
  return { name: text(node.label) || text(node.type) || text(node.id), detail: text(node.type), note, source: node }
}

/** An edge that is taken only under a condition wears a sign; the condition itself is its hint. */
function labelOf(edge: Json): { label: string; hint: string } {
  const { condition } = edge
  if (condition === undefined || condition === null || condition === '') return { label: text(edge.label), hint: '' }
  const { path, ...rest } = isObject(condition) ? condition : { path: undefined }
  const [[verb, value] = ['', '']] = Object.entries(rest)
  const plain = typeof condition === 'string' ? condition : JSON.stringify(condition)
  const hint = typeof path === 'string' ? `${path} ${verb} ${JSON.stringify(value)}` : plain
  return { label: text(edge.label) || '◇', hint }
}

function insideOf(node: Json): Json | null {
  const parameters = isObject(node.parameters) ? node.parameters : {}
  return isObject(parameters.__container) ? parameters.__container : null
}

function addBody(
  graph: FlowGraph,
  definition: Json,
  scope: string,
  parent: string,
  subgraphs: Map<string, Json>,
  depth: number,
): void {
  const wires = objects(definition.edges).map((edge) => ({
    from: isObject(edge.source) ? text(edge.source.node) : '',
    to: isObject(edge.target) ? text(edge.target.node) : '',
    fromPort: isObject(edge.source) ? text(edge.source.port) : '',
    toPort: isObject(edge.target) ? text(edge.target.port) : '',
    ...labelOf(edge),
  }))
  const reached = new Set(wires.map((wire) => wire.to))
  for (const node of objects(definition.nodes)) {
    const id = text(node.id)
    const path = pathOf(scope, id)
    const middlewares = objects(node.middlewares)
    const inner = insideOf(node)
    const body = inner ? subgraphs.get(text(inner.subgraphId)) : undefined
    const group = middlewares.length > 0 || (body !== undefined && depth < DEPTH_MAX)
    graph.nodes.push({
      ...{ path, ...cardOf(node), kind: inner ? 'subflow' : 'call', parent, group },
      start: !reached.has(id),
      ports: portsOf(node, wires),
    })
    const own = middlewares.length > 0 ? addChain(graph, node, middlewares, path) : path
    if (!inner || !body || depth >= DEPTH_MAX) continue
    const loops = isObject(inner.loop) && inner.loop.enabled === true
    addBody(graph, body, loops ? pathOf(own, BODY) : own, own, subgraphs, depth + 1)
  }
  for (const wire of wires) {
    const { label, hint, fromPort, toPort } = wire
    graph.edges.push({ from: pathOf(scope, wire.from), to: pathOf(scope, wire.to), label, hint, fromPort, toPort })
  }
}

/** The middlewares of a node one after the other, the node itself last; tells where that is. */
function addChain(graph: FlowGraph, node: Json, middlewares: Json[], path: string): string {
  let before = ''
  for (const each of [...middlewares, node]) {
    const last = each === node
    const own = pathOf(path, last ? HOST : text(each.id))
    const inner = last && insideOf(node) !== null
    graph.nodes.push({
      ...{ path: own, ...cardOf(each), kind: inner ? 'subflow' : last ? 'call' : 'middleware' },
      ...{ parent: path, group: inner, start: before === '' },
    })
    if (before) graph.edges.push({ from: before, to: own, label: '' })
    before = own
  }
  return before
}
