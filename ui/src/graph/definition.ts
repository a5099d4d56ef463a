/** A definition as a graph to draw: nodes with their places as the engine names them, edges, groups. */
import { workflowGraph } from './workflow'

export interface GraphNode {
  /** The engine's path of the node: `sub/a` is node `a` of subflow node `sub`. */
  path: string
  name: string
  kind: string
  detail: string
  /** A second line: which package and version it comes from. */
  note?: string
  start: boolean
  /** The group it lies in; '' at the top. */
  parent: string
  group: boolean
  /** Of a workflow: the node as the definition writes it, and the ports edges go between. */
  source?: Json
  ports?: Ports
}

export interface PortMark {
  key: string
  name: string
  /** What goes through it, as far as the definition says. */
  type: string
}

export interface Ports {
  inputs: PortMark[]
  outputs: PortMark[]
}

export interface GraphEdge {
  from: string
  to: string
  label: string
  /** Said in full when the label is pointed at. */
  hint?: string
  fromPort?: string
  toPort?: string
}

export interface FlowGraph {
  nodes: GraphNode[]
  edges: GraphEdge[]
}

export type Json = Record<string, unknown>

export function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** A node's key as the engine writes it into paths. */
export function pathOf(scope: string, key: string): string {
  const safe = encodeURIComponent(key)
    .replace(/%20|%3A|%40|%2B|%2C/g, decodeURIComponent)
    .replace(/[!'*]/g, (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`)
  return scope ? `${scope}/${safe}` : safe
}

/** A workflow lists its nodes, a flow names them. */
export function isWorkflow(definition: unknown): definition is Json {
  return isObject(definition) && Array.isArray(definition.nodes)
}

export function graphOf(definition: unknown): FlowGraph {
  const graph: FlowGraph = { nodes: [], edges: [] }
  if (!isObject(definition)) return graph
  if (isWorkflow(definition)) return workflowGraph(definition)
  addScope(graph, definition, '')
  return graph
}

function addScope(graph: FlowGraph, definition: Json, parent: string): void {
  const nodes = isObject(definition.nodes) ? definition.nodes : {}
  for (const [name, raw] of Object.entries(nodes)) {
    const node = isObject(raw) ? raw : {}
    const path = pathOf(parent, name)
    const kind = kindOf(node)
    const inner = isObject(node.subflow) ? node.subflow : null
    graph.nodes.push({
      ...{ path, name, kind, parent, detail: detailOf(node, kind) },
      start: definition.start === name,
      group: kind === 'subflow' && inner !== null,
    })
    if (kind === 'subflow' && inner) addScope(graph, inner, path)
  }
  for (const raw of Array.isArray(definition.edges) ? (definition.edges as unknown[]) : []) {
    if (!isObject(raw)) continue
    const label = typeof raw.action === 'string' && raw.action !== 'default' ? raw.action : ''
    graph.edges.push({ from: pathOf(parent, String(raw.from)), to: pathOf(parent, String(raw.to)), label })
  }
}

function kindOf(node: Json): string {
  const kind = typeof node.kind === 'string' && node.kind ? node.kind : 'executor'
  return kind === 'executor' ? 'call' : kind === 'wait_event' ? 'wait' : kind
}

function detailOf(node: Json, kind: string): string {
  const params = isObject(node.params) ? node.params : {}
  if (kind === 'timer') return typeof params.delay_ms === 'number' ? `${params.delay_ms} ms` : ''
  if (kind === 'approval') return typeof params.prompt === 'string' ? params.prompt : ''
  if (kind === 'wait') return typeof params.signal_key === 'string' ? params.signal_key : ''
  const services = node.parallel_services
  if (Array.isArray(services)) return services.join(', ')
  for (const key of ['service', 'func']) if (typeof node[key] === 'string') return node[key]
  return ''
}
