/** What the timeline draws: for each task, when it was queued, ran and waited. */
import type { AttemptLite, RunModel, TaskLite } from '@/live/model'

export type SpanKind = 'queue' | 'run' | 'wait'

export interface TimeSpan {
  task: string
  node: string
  lane: string
  kind: SpanKind
  state: string
  attempt: number
  worker: string
  /** Who was at it, or whom it waited for. */
  role: string
  from: number
  to: number
  open: boolean
}

export type LaneBy = 'node' | 'worker' | 'kind' | 'role'

/** Lanes of a plan, in this order: who was at it. */
export const ROLES = ['plan', 'work', 'verify', 'people'] as const

const WAITS = new Set(['approval', 'timer', 'wait'])
const CONTAINERS = new Set(['foreach', 'parallel', 'plan', 'subflow'])

/** Spans of tasks that have ended, which never change: a large run is not worked out anew every time. */
export type SpanCache = WeakMap<TaskLite, TimeSpan[]>

/**
 * The spans of a run up to `now`, by when they began; `attempt` 0 is all of them, -1 the newest of
 * each task. A cache serves one choice of lanes and attempts.
 */
export function spansOf(
  model: RunModel,
  kinds: ReadonlyMap<string, string>,
  now: number,
  by: LaneBy,
  attempt: number,
  cache: SpanCache = new WeakMap(),
): TimeSpan[] {
  const spans: TimeSpan[] = []
  for (const task of model.tasks.values()) {
    for (const span of cache.get(task) ?? newSpans(model, task, kinds, now, by, attempt, cache)) spans.push(span)
  }
  return spans.sort((a, b) => a.from - b.from)
}

const SHARE = 2000

/** Fill the cache with what is not in it yet, a share at a time. */
export function* warmSpans(
  model: RunModel,
  kinds: ReadonlyMap<string, string>,
  now: number,
  by: LaneBy,
  attempt: number,
  cache: SpanCache,
): Generator<undefined, void> {
  let count = 0
  for (const task of model.tasks.values()) {
    if (task.finishedAt === null || cache.has(task)) continue
    newSpans(model, task, kinds, now, by, attempt, cache)
    count += 1
    if (count % SHARE === 0) yield
  }
}

function newSpans(
  model: RunModel,
  task: TaskLite,
  kinds: ReadonlyMap<string, string>,
  now: number,
  by: LaneBy,
  attempt: number,
  cache: SpanCache,
): TimeSpan[] {
  const own = chosenSpans(task, triesOf(model, task), kinds, now, by, attempt)
  for (const span of own) span.lane = laneOf(span, by)
  if (task.finishedAt !== null && own.every((span) => !span.open)) cache.set(task, own)
  return own
}

/** A task is made anew whenever one of its attempts moves, so these belong to just this task. */
function triesOf(model: RunModel, task: TaskLite): AttemptLite[] {
  const tries: AttemptLite[] = []
  for (let number = 1; number <= task.attempts; number += 1) {
    const found = model.attempts.get(`${task.id}@${number}`)
    if (found) tries.push(found)
  }
  return tries
}

function chosenSpans(
  task: TaskLite,
  tries: AttemptLite[],
  kinds: ReadonlyMap<string, string>,
  now: number,
  by: LaneBy,
  attempt: number,
): TimeSpan[] {
  // News of a new task does not tell its kind; the definition does.
  const kind = task.kind || kinds.get(task.node) || ''
  // A plan has tasks inside, and attempts of its own that make it.
  const planned = by === 'role' && kind === 'plan' && tries.length > 0
  if (planned) return spansOfTask(task, kind, tries, now).filter((span) => span.kind === 'run')
  if (CONTAINERS.has(kind) || task.total > 0) return []
  return spansOfTask(task, kind, tries, now).filter((span) => chosen(span, attempt, tries.length))
}

function chosen(span: TimeSpan, attempt: number, newest: number): boolean {
  if (attempt === 0 || span.attempt === 0) return true
  return span.attempt === (attempt === -1 ? newest : attempt)
}

function laneOf(span: TimeSpan, by: LaneBy): string {
  if (by === 'worker') return span.worker || '–'
  if (by === 'kind') return span.kind
  if (by === 'role') return span.role
  return span.node.replace(/\/(\*|\d+)$/, '')
}

function spansOfTask(task: TaskLite, taskKind: string, tries: AttemptLite[], now: number): TimeSpan[] {
  const end = task.finishedAt ?? now
  const base = { task: task.id, node: task.node, lane: '', state: task.state, worker: '', attempt: 0, role: taskKind === 'approval' || task.state === 'waiting' ? 'people' : 'work' }
  if (tries.length === 0) {
    if (task.state === 'pending' || task.state === 'skipped') return []
    const kind: SpanKind = WAITS.has(taskKind) || task.state === 'waiting' ? 'wait' : 'queue'
    const instant = task.finishedAt !== null && kind === 'queue'
    return [{ ...base, kind: instant ? 'run' : kind, from: task.createdAt, to: end, open: task.finishedAt === null }]
  }
  const spans: TimeSpan[] = []
  let free = task.createdAt
  let first = true
  for (const row of tries) {
    const kind: SpanKind = first ? 'queue' : 'wait'
    if (row.claimedAt > free) {
      spans.push({ ...base, kind, state: 'queued', attempt: row.number, role: row.role, from: free, to: row.claimedAt, open: false })
    }
    const to = row.finishedAt ?? Math.max(end, row.claimedAt)
    const rest = { state: row.state, attempt: row.number, worker: row.worker, role: row.role, open: row.finishedAt === null }
    spans.push({ ...base, ...rest, kind: 'run', from: row.claimedAt, to })
    free = to
    first = false
  }
  if (task.finishedAt === null && tries.at(-1)?.finishedAt) {
    const kind: SpanKind = task.state === 'queued' ? 'queue' : 'wait'
    spans.push({ ...base, kind, from: free, to: now, open: true })
  }
  return spans
}

export interface Lane {
  name: string
  rows: TimeSpan[][]
}

/** Lanes of sorted spans, in the order things began, packed into as few rows as need not overlap. */
export function lanesOf(spans: readonly TimeSpan[], rowsMax: number): Lane[] {
  const lanes = new Map<string, { rows: TimeSpan[][]; ends: { end: number; task: string }[] }>()
  for (const span of spans) {
    let lane = lanes.get(span.lane)
    if (!lane) lanes.set(span.lane, (lane = { rows: [], ends: [] }))
    const row = freeRow(lane.ends, span, rowsMax)
    ;(lane.rows[row] ??= []).push(span)
    lane.ends[row] = { end: Math.max(span.to, lane.ends[row]?.end ?? 0), task: span.task }
  }
  return [...lanes].map(([name, { rows }]) => ({ name, rows }))
}

/** Where the task's former span ended, else the first row that is free, else the last there may be. */
function freeRow(ends: readonly { end: number; task: string }[], span: TimeSpan, rowsMax: number): number {
  let free = -1
  for (let row = 0; row < ends.length; row += 1) {
    const last = ends[row] as { end: number; task: string }
    if (last.end > span.from) continue
    if (last.task === span.task) return row
    if (free < 0) free = row
  }
  return free >= 0 ? free : Math.min(ends.length, rowsMax - 1)
}
