/** What the stream carries, and what tabs and the one connection tell each other. */

export interface Change {
  run?: string
  task?: string
  node?: string
  state?: string
  generation?: number
  action?: string
  error?: unknown
  due_at?: number
  attempt?: string
  worker?: string
  fanout?: string
  made?: [number, number]
  released?: number
  total?: number
  checkpoint?: string
  /** The task whose claim was judged, and how. */
  judged?: string
  verdict?: string
}

export interface RunNews {
  runId: string
  flow: string
  versionId: string
  state: string
  seq: number
  type: string
  taskId: string | null
  at: number
  data: { changes?: Change[] } & Record<string, unknown>
  error: unknown
  failures: number
  open: number
  generation: number
  createdAt: number
  startedAt: number | null
  updatedAt: number
  finishedAt: number | null
}

export interface CheckpointNews {
  id: string
  runId: string
  state: string
}

export interface WorkerNews {
  id: string
  state: string
  seenAt: number
}

/** Attempts of a run have said something. */
export interface LogNews {
  runId: string
}

export type News =
  | { kind: 'run'; items: RunNews[] }
  | { kind: 'checkpoint'; items: CheckpointNews[] }
  | { kind: 'worker'; items: WorkerNews[] }
  | { kind: 'log'; items: LogNews[] }
  | { kind: 'reset' }
  | { kind: 'poke' }

export type Link =
  | { state: 'connecting' }
  | { state: 'live' }
  | { state: 'reconnecting'; since: number }
  | { state: 'stale'; since: number }
  | { state: 'denied' }

/** `id` is how far the stream has been read: whoever reads it next goes on from there. */
export type FromConnection = { type: 'link'; link: Link; id: string } | { type: 'news'; news: News; id: string }
export type ToConnection = { type: 'start'; url: string; token: string; tenant: string } | { type: 'bye' } | { type: 'cut' }
