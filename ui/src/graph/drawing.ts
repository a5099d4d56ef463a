/** From a flow's graph and a run's state to the boxes a page draws. */
import { errorNow } from '@/api/types'
import type { RunModel } from '@/live/model'

import type { FlowGraph, GraphNode, Ports } from './definition'
import type { Box, Wire } from './layout'
import { foldedText, type NodeState, overlay } from './overlay'

export interface Cell {
  id: string
  name: string
  kind: string
  detail: string
  note: string
  group: boolean
  start: boolean
  state: string
  task: string
  failedTask: string
  folded: string
  visits: number
  error: string
  /** What its verifier said last. */
  verdict: string
  foldable: boolean
  open: boolean
  /** When its newest visit began and ended, and how often it was tried. */
  from: number | null
  to: number | null
  attempts: number
  /** Of a fan-out: its branches by state. */
  branches: Record<string, number> | null
  total: number
  ports?: Ports
}

export interface Drawing {
  cells: Map<string, Cell>
  boxes: Box[]
  wires: Wire[]
  labels: string[]
  hints: string[]
  /** The ports each wire goes between; empty where there are none. */
  ends: [string, string][]
  /** Changes exactly when boxes or wires do. */
  key: string
}

export const CARD = { width: 208, height: 64 }
export const PORT_ROW = 18
const BRANCH = { width: 128, height: 32 }

/** A card grows by a row for each of its ports. */
function sizeOf(node: GraphNode): { width: number; height: number } {
  const rows = node.group ? 0 : Math.max(node.ports?.inputs.length ?? 0, node.ports?.outputs.length ?? 0)
  return { width: CARD.width, height: CARD.height + (rows ? rows * PORT_ROW + 6 : 0) }
}

export function drawingOf(graph: FlowGraph, model: RunModel | undefined, open: ReadonlySet<string>): Drawing {
  const states = overlay(graph, model)
  const cells = new Map<string, Cell>()
  const boxes: Box[] = []
  for (const node of graph.nodes) {
    const state = states.get(node.path) as NodeState
    const fan = state.task !== null && state.total > 0
    const unfolded = fan && open.has(node.path)
    cells.set(node.path, cellOf(node, state, fan, unfolded))
    boxes.push({ id: node.path, parent: node.parent, ...sizeOf(node), group: node.group || unfolded })
    if (unfolded && model) addBranches(cells, boxes, node, state, model)
  }
  const wires = graph.edges.map(({ from, to }) => ({ from, to }))
  const key = `${boxes.map((box) => `${box.id}${box.group ? '+' : ''}`).join('|')}#${wires.length}`
  return { cells, boxes, wires, labels: graph.edges.map((edge) => edge.label), hints: graph.edges.map((edge) => edge.hint ?? ''), ends: graph.edges.map((edge) => [edge.fromPort ?? '', edge.toPort ?? '']), key }
}

function cellOf(node: GraphNode, state: NodeState, foldable: boolean, open: boolean): Cell {
  return {
    ...{ id: node.path, name: node.name, kind: node.kind, detail: node.detail, note: node.note ?? '', start: node.start },
    ...{ group: node.group || open, state: state.state, task: state.task?.id ?? '', failedTask: state.failedTask },
    folded: foldable ? foldedText(state.total, state.branches) : '',
    ...{ visits: state.visits, error: state.error, verdict: state.verdict, foldable, open, branches: state.branches, total: state.total },
    ...{ from: state.task?.startedAt ?? state.task?.createdAt ?? null, to: state.task?.finishedAt ?? null },
    ...{ attempts: state.task?.attempts ?? 0, ports: node.group ? undefined : node.ports },
  }
}

function addBranches(cells: Map<string, Cell>, boxes: Box[], node: GraphNode, state: NodeState, model: RunModel): void {
  const container = state.task?.id ?? ''
  for (let index = 0; index < state.total; index += 1) {
    const task = model.tasks.get(`${container}~${index}`)
    const id = `${node.path}#${index}`
    cells.set(id, {
      ...{ id, name: `[${index}]`, kind: 'branch', detail: '', note: '', start: false, group: false },
      ...{ state: task?.state ?? 'pending', task: task?.id ?? '', folded: '', verdict: '', visits: 1, foldable: false, open: false },
      ...{ from: task?.startedAt ?? null, to: task?.finishedAt ?? null, attempts: task?.attempts ?? 0, branches: null, total: 0 },
      failedTask: task?.state === 'failed' ? task.id : '',
      error: (task && errorNow(task)?.message) ?? '',
    })
    boxes.push({ id, parent: node.path, ...BRANCH, group: false })
  }
}
