/** The tasks of a run as a tree, in the order they began. */
import { hasEnded } from '@/api/types'
import type { Names } from '@/graph/names'
import { parentOf, type RunModel, type TaskLite } from '@/live/model'

export interface TreeRow {
  task: TaskLite
  depth: number
  children: number
}

const ORDER = ['failed', 'running', 'queued', 'waiting', 'verifying', 'pending', 'cancelled', 'skipped', 'superseded', 'succeeded']

/** How many tasks are in each state, the ones that matter most first. */
export function countStates(model: RunModel): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const task of model.tasks.values()) counts[task.state] = (counts[task.state] ?? 0) + 1
  return Object.fromEntries(ORDER.filter((state) => counts[state]).map((state) => [state, counts[state] as number]))
}

function byPlace(a: TaskLite, b: TaskLite): number {
  return a.step - b.step || a.index - b.index
}

/** Visible rows: what is at the top, and what lies in the containers that are open. */
export function treeRows(model: RunModel, open: ReadonlySet<string>, find: string, names: Names): TreeRow[] {
  const children = new Map<string, TaskLite[]>()
  for (const task of model.tasks.values()) {
    const parent = parentOf(task.id)
    const list = children.get(parent)
    if (list) list.push(task)
    else children.set(parent, [task])
  }
  const rows: TreeRow[] = []
  const wanted = find.trim().toLowerCase()
  const matches = (task: TaskLite) => `${nameOf(task, names)} ${task.state}`.toLowerCase().includes(wanted)
  const walk = (parent: string, depth: number) => {
    for (const task of (children.get(parent) ?? []).sort(byPlace)) {
      const inner = children.get(task.id)?.length ?? 0
      if (!wanted || matches(task)) rows.push({ task, depth: wanted ? 0 : depth, children: inner })
      if (inner && (wanted || open.has(task.id))) walk(task.id, depth + 1)
    }
  }
  walk(model.id, 0)
  return rows
}

/** The name in a tree, where what is around it stands above. */
export function shortName(row: TreeRow, names: Names): string {
  return row.depth > 0 && row.task.index < 0 ? names.last(row.task.node) : nameOf(row.task, names)
}

/** A task's name as people say it: its node, and its place in a fan-out. */
export function nameOf(task: TaskLite, names: Names): string {
  if (task.index >= 0) return `${names.of(task.node.replace(/\/(\*|\d+)$/, ''))}[${task.index}]`
  return names.of(task.node)
}

/** The failed task after the one given, round and round. */
export function nextError(model: RunModel, after: string | undefined): string | undefined {
  const failed = [...model.tasks.values()].filter((task) => task.state === 'failed').map((task) => task.id)
  return failed[(failed.indexOf(after ?? '') + 1) % failed.length]
}

export function canRetry(task: TaskLite, runState: string): boolean {
  return task.state === 'failed' && hasEnded(runState)
}
