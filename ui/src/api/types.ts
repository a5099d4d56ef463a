/** The server's views under short names; the shapes are generated from its OpenAPI document. */
import type { components } from './schema'

type Schemas = components['schemas']

export type Run = Schemas['RunView']
export type Task = Schemas['TaskView']
export type Attempt = Schemas['AttemptView']
export type Revision = Schemas['RevisionView']
export type RunEvent = Schemas['EventView']
export type LogEntry = Schemas['LogView']
export type LogPage = Schemas['LogPage']
export type Flow = Schemas['FlowView']
export type Version = Schemas['VersionView']
export type Checkpoint = Schemas['CheckpointView']
export type Worker = Schemas['WorkerView']
export type Token = Schemas['TokenView']
export type Info = Schemas['InfoView']
/** Why something stands where it stands; the server leaves out values that are as usual. */
export type Reason = { code: Schemas['ReasonCode']; values: Partial<Schemas['ReasonValues']> }
export type Why = Omit<Schemas['WhyView'], 'reason' | 'reasons'> & { reason: Reason; reasons: { task: string; state: string; text: string; reason: Reason }[] }
export type Stats = Schemas['StatsView']
export type Outline = Schemas['OutlineView']
export type SavedView = Schemas['SavedViewView']
export type BulkJob = Schemas['BulkJobView']
export type Bulk = Schemas['BulkView']
export type Retry = Schemas['RetryView']
export type Started = Schemas['StartedView']
export type Valid = Schemas['ValidView']
export type Published = Schemas['PublishedView']
export type Problem = Schemas['Problem']
export type Package = Schemas['PackageSummary']
export type PackageDetail = Schemas['PackageDetail']
export type DeadLetter = Schemas['DeadLetterView']
export type DeadLetterDetail = Schemas['DeadLetterDetail']
export type DeadLettersDone = Schemas['DeadLettersDone']
export type Limit = Schemas['LimitView']
export type LimitRule = Schemas['LimitRuleView']
export type LimitRuleBody = Schemas['LimitRuleBody']
export type EnvResource = Omit<Schemas['EnvResourceView'], 'lacks'> & { lacks?: Reason | null }
export type EnvSession = Schemas['EnvSessionView']
export type EnvFiles = Schemas['EnvFiles']
export type EnvSnapshot = Schemas['EnvSnapshotView']
export type EnvKind = Omit<Schemas['EnvKindView'], 'lacks'> & { lacks?: Reason | null }
export type EnvImage = Schemas['EnvImageView']
export type Pod = Schemas['PodView']
export type PodDetail = Schemas['PodDetail']
export type PodEvent = Schemas['PodEventView']
export type KubernetesEvent = Schemas['KubernetesEvent']
export type KubernetesEvents = Schemas['KubernetesEvents']
export type PodPage = Schemas['PodPage']
export type User = Schemas['UserView']
export type Tenant = Schemas['TenantView']
export type AuditEvent = Schemas['AuditView']
export type Grid = Schemas['GridView']
export type GridRun = Schemas['GridRun']
export type GridTask = Schemas['GridTask']
export type Action = Schemas['ActionView']
export type Approval = Schemas['ApprovalView']
export type ApprovalMade = Schemas['ApprovalMade']
export type BoardEntry = Schemas['BoardView']
export type PublishedPackage = Schemas['PublishedPackage']

export interface Page<T> {
  items: T[]
  next?: string | number | null
}

export interface Failure {
  kind: string
  message: string
  node?: string
}

export const RUN_STATES = [
  'queued',
  'running',
  'waiting',
  'cancelling',
  'succeeded',
  'failed',
  'cancelled',
] as const

const ENDED = new Set(['succeeded', 'failed', 'cancelled', 'skipped', 'superseded', 'timed_out', 'lost'])

export function hasEnded(state: string): boolean {
  return ENDED.has(state)
}

/** A run's state in words: one that went on after failures did not plainly succeed. */
export function outcomeOf(run: Pick<Run, 'state' | 'failures'>): string {
  return run.state === 'succeeded' && run.failures > 0 ? 'succeeded with failures' : run.state
}

export function failureOf(error: unknown): Failure | null {
  if (typeof error !== 'object' || error === null || !('message' in error)) return null
  return error as Failure
}

/** What went wrong with a task, if it still is: one that succeeded after all has no error to show. */
export function errorNow(task: { state: string; error?: unknown }): Failure | null {
  return task.state === 'succeeded' ? null : failureOf(task.error)
}

/** Whether a run is of a workflow: its definition came with it, its nodes are named by ids. */
export function isWorkflowRun(run: Run): boolean {
  return typeof run.tags === 'object' && run.tags !== null && 'definitionHash' in run.tags
}
