/** A run as the pages hold it: tasks and attempts by id, moved on by events in the order of `seq`. */
import type { Outline } from '@/api/types'
import { hasEnded } from '@/api/types'

import type { Change, RunNews } from './news'

export interface TaskLite {
  id: string
  node: string
  kind: string
  state: string
  step: number
  index: number
  attempts: number
  failures: number
  generation: number
  total: number
  failed: number
  action: string
  error: unknown
  createdAt: number
  startedAt: number | null
  finishedAt: number | null
  dueAt: number | null
}

export interface AttemptLite {
  id: string
  taskId: string
  number: number
  state: string
  worker: string
  claimedAt: number
  finishedAt: number | null
  /** What it was for: work, verify or plan. */
  role: string
  /** What one that verifies has said: accepted, rejected or ask. */
  verdict: string
}

export interface RunModel {
  id: string
  seq: number
  tasks: ReadonlyMap<string, TaskLite>
  attempts: ReadonlyMap<string, AttemptLite>
  /** How many tasks came since the outline was read; the graph offers to fit, never does it itself. */
  added: number
}

export function taskOf(attempt: string): string {
  return attempt.slice(0, attempt.lastIndexOf('@'))
}

export function parentOf(task: string): string {
  return task.slice(0, task.lastIndexOf('~'))
}

export function fromOutline(outline: Outline): RunModel {
  const tasks = new Map<string, TaskLite>()
  for (const row of outline.tasks) {
    const [id, node, kind, state, step, index, attempts, failures, generation, total, failed] = row
    const [action, error, createdAt, startedAt, finishedAt, dueAt] = row.slice(11) as [
      string,
      unknown,
      number,
      number | null,
      number | null,
      number | null,
    ]
    const full = outline.id + id
    tasks.set(full, {
      ...{ id: full, node, kind, state, step, index, attempts, failures, generation, total, failed },
      ...{ action, error, createdAt, startedAt, finishedAt, dueAt },
    })
  }
  const attempts = new Map<string, AttemptLite>()
  for (const [id, state, worker, claimedAt, finishedAt, role = 'work', verdict = ''] of outline.attempts) {
    const full = outline.id + id
    const number = Number(full.slice(full.lastIndexOf('@') + 1))
    const taskId = taskOf(full)
    attempts.set(full, { id: full, taskId, number, state, worker, claimedAt, finishedAt, role, verdict })
  }
  return { id: outline.id, seq: outline.seq, tasks, attempts, added: 0 }
}

/** The part of the news that goes on from where the model is; `gap` when something in between is missing. */
export function nextEvents(model: RunModel, news: readonly RunNews[]): { events: RunNews[]; gap: boolean } {
  const events: RunNews[] = []
  let seq = model.seq
  for (const item of [...news].sort((a, b) => a.seq - b.seq)) {
    if (item.runId !== model.id || item.seq <= seq) continue
    if (item.seq !== seq + 1) return { events, gap: true }
    events.push(item)
    seq = item.seq
  }
  return { events, gap: false }
}

type Applied = Pick<RunNews, 'seq' | 'at' | 'data'>

/** The model after some events; the old one is left as it is. */
export function applyEvents(model: RunModel, events: readonly Applied[]): RunModel {
  if (events.length === 0) return model
  const tasks = new Map(model.tasks)
  const attempts = new Map(model.attempts)
  let { seq, added } = model
  for (const event of events) {
    if (event.seq <= seq) continue
    seq = event.seq
    for (const change of event.data.changes ?? []) {
      if (change.task) added += applyTask(tasks, change, event.at)
      else if (change.attempt) applyAttempt(tasks, attempts, change, event.at)
      else if (change.judged) applyVerdict(tasks, attempts, change)
      else if (change.fanout) added += applyFanout(tasks, change, event.at)
    }
  }
  return { id: model.id, seq, tasks, attempts, added }
}

function applyTask(tasks: Map<string, TaskLite>, change: Change, at: number): number {
  const id = change.task as string
  const state = change.state ?? 'pending'
  const old = tasks.get(id)
  const task: TaskLite = old ?? newTask(id, change.node ?? '', at)
  const reopened = (change.generation ?? task.generation) > task.generation
  const ended = hasEnded(state)
  tasks.set(id, {
    ...task,
    state,
    generation: change.generation ?? task.generation,
    action: change.action ?? (reopened ? '' : task.action),
    error: change.error ?? (reopened || !ended ? null : task.error),
    dueAt: ended ? null : (change.due_at ?? null),
    startedAt: reopened ? null : (task.startedAt ?? (state === 'running' ? at : null)),
    finishedAt: ended ? (task.finishedAt ?? at) : null,
  })
  if (state === 'failed' && old?.state !== 'failed') countFailed(tasks, id)
  return old ? 0 : 1
}

function countFailed(tasks: Map<string, TaskLite>, id: string): void {
  const parent = tasks.get(parentOf(id))
  if (parent) tasks.set(parent.id, { ...parent, failed: parent.failed + 1 })
}

function newTask(id: string, node: string, at: number): TaskLite {
  const last = id.slice(id.lastIndexOf('~') + 1)
  const dot = last.lastIndexOf('.')
  const index = dot < 0 ? Number(last) : -1
  // What an attempt called for is told apart by a digest rather than by a step.
  const step = dot < 0 ? 0 : Number(last.slice(dot + 1)) || 0
  return {
    ...{ id, node, kind: '', state: 'pending', step, index },
    ...{ attempts: 0, failures: 0, generation: 0, total: 0, failed: 0, action: '', error: null },
    ...{ createdAt: at, startedAt: null, finishedAt: null, dueAt: null },
  }
}

function applyAttempt(
  tasks: Map<string, TaskLite>,
  attempts: Map<string, AttemptLite>,
  change: Change,
  at: number,
): void {
  const id = change.attempt as string
  const taskId = taskOf(id)
  const number = Number(id.slice(id.lastIndexOf('@') + 1))
  const old = attempts.get(id)
  const state = change.state ?? old?.state ?? 'claimed'
  const task = tasks.get(taskId)
  // News of an attempt does not tell what it is for; where its task stands when it is claimed does.
  const role = old?.role ?? (task?.kind === 'plan' ? 'plan' : task?.state === 'verifying' ? 'verify' : 'work')
  attempts.set(id, {
    ...{ id, taskId, number, state, role, verdict: old?.verdict ?? '' },
    worker: change.worker ?? old?.worker ?? '',
    claimedAt: old?.claimedAt ?? at,
    finishedAt: hasEnded(state) ? (old?.finishedAt ?? at) : null,
  })
  if (!task) return
  const failures = task.failures + (state === 'failed' && old?.state !== 'failed' ? 1 : 0)
  tasks.set(taskId, { ...task, attempts: Math.max(task.attempts, number), failures })
}

/** A claim was judged: the newest attempt of its task said how. */
function applyVerdict(tasks: ReadonlyMap<string, TaskLite>, attempts: Map<string, AttemptLite>, change: Change): void {
  const task = tasks.get(change.judged as string)
  const attempt = task && attempts.get(`${task.id}@${task.attempts}`)
  if (attempt) attempts.set(attempt.id, { ...attempt, role: 'verify', verdict: change.verdict ?? '' })
}

/** A fan-out made branches `made[0]` up to `made[1]`; the first `released` of all may run. */
function applyFanout(tasks: Map<string, TaskLite>, change: Change, at: number): number {
  const id = change.fanout as string
  const container = tasks.get(id)
  if (container) tasks.set(id, { ...container, total: change.total ?? container.total })
  const [first, last] = change.made ?? [0, 0]
  let added = 0
  for (let index = first; index < last; index += 1) {
    const branch = `${id}~${index}`
    if (tasks.has(branch)) continue
    const node = `${container?.node ?? ''}/*`
    const state = index < (change.released ?? last) ? 'queued' : 'pending'
    tasks.set(branch, { ...newTask(branch, node, at), state })
    added += 1
  }
  return added
}
