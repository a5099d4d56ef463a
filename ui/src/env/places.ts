/** What can be said and done about places: who may be released, which runtimes are missing, what comes next. */
import type { EnvKind, EnvResource, EnvSession, EnvSnapshot, Reason } from '@/api/types'
import { asWritten } from '@/graph/names'

export const SESSION_STATES = ['reserved', 'committed', 'held', 'kept', 'releasing', 'released'] as const

/** Whether nobody works in it: the server refuses to take a place from an attempt. */
export function mayRelease(session: Pick<EnvSession, 'state' | 'attemptId'>): boolean {
  if (session.state === 'held' || session.state === 'kept') return true
  return session.state === 'committed' && !session.attemptId
}

/** Whether there is something to look at: the place is made, and not given back. */
export function hasPlace(session: Pick<EnvSession, 'state'>): boolean {
  return ['committed', 'held', 'kept'].includes(session.state)
}

/** How many places of each resource have nobody working in them: a person was asked, or somebody may look. */
export function heldOf(sessions: readonly Pick<EnvSession, 'resource' | 'state'>[]): Map<string, number> {
  const held = new Map<string, number>()
  for (const { resource, state } of sessions) {
    if (state === 'held' || state === 'kept') held.set(resource, (held.get(resource) ?? 0) + 1)
  }
  return held
}

export interface SnapshotChange {
  /** Whether anything in the place was another than at the snapshot before; null for the first. */
  changed: boolean | null
  /** By how many bytes it is larger. */
  grown: number
}

/** What each snapshot changed, the oldest first. */
export function changesOf(snapshots: readonly Pick<EnvSnapshot, 'digest' | 'sizeBytes'>[]): SnapshotChange[] {
  return snapshots.map((one, at) => {
    const before = snapshots[at - 1]
    return before ? { changed: before.digest !== one.digest, grown: one.sizeBytes - before.sizeBytes } : { changed: null, grown: 0 }
  })
}

/** A task's id without that of its run, which stands beside it. */
export function taskName(session: Pick<EnvSession, 'runId' | 'taskId'>): string {
  return asWritten(session.taskId.startsWith(`${session.runId}~`) ? session.taskId.slice(session.runId.length + 1) : session.taskId)
}

export interface MissingKind {
  kind: string
  /** What to do about it, as the server says it in English. */
  text: string
  /** The same, for this page to word. */
  lacks: Reason | null
  /** Resources that cannot have places without it. */
  resources: string[]
}

/** Kinds that can be had with what the guide names; the others are only told of when a resource is of them. */
const COMMON = new Set(['container', 'browser'])

/** Runtimes that are missing, those that a resource needs first. */
export function missingKinds(kinds: readonly EnvKind[], resources: readonly EnvResource[]): MissingKind[] {
  const found = kinds
    .filter((one) => one.missing)
    .map((one) => {
      const needed = resources.filter((resource) => resource.kind === one.kind && resource.status === 'active')
      return { kind: one.kind, text: one.missing, lacks: one.lacks ?? null, resources: needed.map((resource) => resource.name) }
    })
    .filter((one) => one.resources.length > 0 || COMMON.has(one.kind))
  return [...found.filter((one) => one.resources.length > 0), ...found.filter((one) => one.resources.length === 0)]
}

const FIRST: Record<string, string> = {
  container: `windlass env create py --kind container --capacity 3 --config '{"image": "python:3.12-slim"}'`,
  browser: 'windlass env create web --kind browser --capacity 2',
  noop: 'windlass env create try --kind noop --capacity 2',
}

/** The command that makes a first resource of something this server has; '' if it has nothing. */
export function firstCommand(kinds: readonly EnvKind[]): string {
  const has = Object.keys(FIRST).find((kind) => kinds.some((one) => one.kind === kind && !one.missing))
  return has ? (FIRST[has] ?? '') : ''
}
