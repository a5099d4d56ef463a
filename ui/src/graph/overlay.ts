/** State over the graph: what the tasks of each node add up to. */
import { errorNow } from '@/api/types'
import type { RunModel, TaskLite } from '@/live/model'

import type { FlowGraph } from './definition'

export interface NodeState {
  state: string
  /** The newest visit of the node, which a click opens. */
  task: TaskLite | null
  visits: number
  /** For a fan-out: its branches by state. */
  branches: Record<string, number> | null
  total: number
  error: string
  failedTask: string
  /** What its verifier said last: `accepted`, `rejected`, or '' where nobody has judged it. */
  verdict: string
}

const RANK = ['failed', 'running', 'queued', 'waiting', 'verifying', 'pending', 'cancelled', 'skipped', 'succeeded']

export function overlay(graph: FlowGraph, model: RunModel | undefined): Map<string, NodeState> {
  const byNode = new Map<string, TaskLite[]>()
  const branches = new Map<string, Record<string, number>>()
  const failed = new Map<string, string>()
  for (const task of model?.tasks.values() ?? []) {
    if (task.index >= 0) {
      // A branch counts for the fan-out it belongs to, whatever lies inside the branch.
      const owner = task.id.slice(0, task.id.lastIndexOf('~'))
      const counts = branches.get(owner) ?? {}
      counts[task.state] = (counts[task.state] ?? 0) + 1
      branches.set(owner, counts)
      if (task.state === 'failed' && !failed.has(owner)) failed.set(owner, task.id)
    }
    const list = byNode.get(task.node)
    if (list) list.push(task)
    else byNode.set(task.node, [task])
  }
  const found = new Map<string, NodeState>()
  for (const node of graph.nodes) {
    const tasks = (byNode.get(node.path) ?? []).filter((task) => task.state !== 'superseded')
    const state = stateOf(tasks, branches, failed)
    found.set(node.path, { ...state, verdict: state.task && model ? verdictOf(state.task, model) : '' })
  }
  return found
}

function stateOf(
  tasks: TaskLite[],
  branches: Map<string, Record<string, number>>,
  failed: Map<string, string>,
): Omit<NodeState, 'verdict'> {
  // A node inside branches has one task a branch: the one that says most stands for all.
  const newest = [...tasks].sort(
    (a, b) => b.step - a.step || RANK.indexOf(a.state) - RANK.indexOf(b.state),
  )[0]
  if (!newest) {
    return { state: '', task: null, visits: 0, branches: null, total: 0, error: '', failedTask: '' }
  }
  const counts = branches.get(newest.id) ?? null
  return {
    state: newest.state,
    task: newest,
    visits: tasks.length,
    branches: counts,
    total: newest.total,
    error: errorNow(newest)?.message ?? '',
    failedTask: newest.state === 'failed' ? newest.id : (failed.get(newest.id) ?? ''),
  }
}

/** The last verdict on a task. One that accepted says nothing any more once the task is done again. */
export function verdictOf(task: TaskLite, model: Pick<RunModel, 'attempts'>): string {
  for (let number = task.attempts; number > 0; number -= 1) {
    const verdict = model.attempts.get(`${task.id}@${number}`)?.verdict
    if (verdict === 'rejected' || (verdict === 'accepted' && number === task.attempts)) return verdict
    if (verdict) return ''
  }
  return ''
}

/** `×128 ✓120 ✗3 ▶5`: a fan-out on one line. */
export function foldedText(total: number, counts: Record<string, number> | null): string {
  const parts = [`×${total}`]
  const signs: [string, string][] = [
    ['succeeded', '✓'],
    ['failed', '✗'],
    ['running', '▶'],
    ['waiting', '‖'],
    ['queued', '…'],
    ['cancelled', '⊘'],
  ]
  for (const [state, sign] of signs) if (counts?.[state]) parts.push(`${sign}${counts[state]}`)
  return parts.join(' ')
}
