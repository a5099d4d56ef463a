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
  from: number
  to: number
  open: boolean
}

export type LaneBy = 'node' | 'worker' | 'kind'

const WAITS = new Set(['approval', 'timer', 'wait'])
const CONTAINERS = new Set(['foreach', 'parallel', 'subflow'])

/** The spans of a run up to `now`, by when they began; `attempt` 0 is all of them, -1 the newest of each task. */
export function spansOf(
  model: RunModel,
  kinds: ReadonlyMap<string, string>,
  now: number,
  by: LaneBy,
  attempt: number,
): TimeSpan[] {
  const tries = new Map<string, AttemptLite[]>()
  for (const row of model.attempts.values()) {
    const list = tries.get(row.taskId)
    if (list) list.push(row)
    else tries.set(row.taskId, [row])
  }
  const spans: TimeSpan[] = []
  for (const task of model.tasks.values()) {
    // News of a new task does not tell its kind; the definition does.
    const kind = task.kind || kinds.get(task.node) || ''
    if (CONTAINERS.has(kind) || task.total > 0) continue
    const own = tries.get(task.id) ?? []
    if (own.length > 1) own.sort((a, b) => a.number - b.number)
    for (const span of spansOfTask(task, kind, own, now)) {
      if (chosen(span, attempt, own.length)) spans.push(span)
    }
  }
  for (const span of spans) span.lane = laneOf(span, by)
  return spans.sort((a, b) => a.from - b.from)
}

function chosen(span: TimeSpan, attempt: number, newest: number): boolean {
  if (attempt === 0 || span.attempt === 0) return true
  return span.attempt === (attempt === -1 ? newest : attempt)
}

function laneOf(span: TimeSpan, by: LaneBy): string {
  if (by === 'worker') return span.worker || '–'
  if (by === 'kind') return span.kind
  return span.node.replace(/\/(\*|\d+)$/, '')
}

function spansOfTask(task: TaskLite, taskKind: string, tries: AttemptLite[], now: number): TimeSpan[] {
  const end = task.finishedAt ?? now
  const base = { task: task.id, node: task.node, lane: '', state: task.state, worker: '', attempt: 0 }
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
      spans.push({ ...base, kind, state: 'queued', attempt: row.number, from: free, to: row.claimedAt, open: false })
    }
    const to = row.finishedAt ?? Math.max(end, row.claimedAt)
    const rest = { state: row.state, attempt: row.number, worker: row.worker, open: row.finishedAt === null }
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
    let row = lane.ends.findIndex((last) => last.task === span.task && last.end <= span.from)
    if (row < 0) row = lane.ends.findIndex((last) => last.end <= span.from)
    if (row < 0) row = Math.min(lane.ends.length, rowsMax - 1)
    ;(lane.rows[row] ??= []).push(span)
    lane.ends[row] = { end: Math.max(span.to, lane.ends[row]?.end ?? 0), task: span.task }
  }
  return [...lanes].map(([name, { rows }]) => ({ name, rows }))
}
