/** The logs of a run as they are read: the newest first, then what is older on demand and what comes as it comes. */
import type { LogEntry, LogPage } from '@/api/types'

export const LEVELS = ['all', 'warning', 'error'] as const
export type Level = (typeof LEVELS)[number]

/** Which entries are meant. */
export interface Wanted {
  find: string
  task: string
  /** An attempt's number; '' for all. */
  attempt: string
  level: Level
}

export const EVERYTHING: Wanted = { find: '', task: '', attempt: '', level: 'all' }

/** The tasks and attempts that have been seen, under whatever filter. */
export interface Known {
  tasks: readonly string[]
  attempts: number
}

export type LogQuery = Record<string, string | number | undefined>

export function queryOf(wanted: Wanted): LogQuery {
  return { q: wanted.find.trim(), task: wanted.task, attempt: wanted.attempt, level: wanted.level === 'all' ? '' : wanted.level }
}

/** An entry on the page, with a number of its own: two may say the same at the same time. */
export interface Shown extends LogEntry {
  key: number
}

export interface LogState {
  entries: readonly Shown[]
  /** Whether there are earlier ones. */
  earlier: boolean
  /** Whether the newest have been read at all. */
  loaded: boolean
  error: unknown
}

export const NOTHING: LogState = { entries: [], earlier: false, loaded: false, error: null }

/** Entries with others among them, in the order of time; what was there stays before what is as old. */
export function joined(old: readonly Shown[], more: readonly Shown[]): readonly Shown[] {
  if (more.length === 0) return old
  const all = [...old, ...more]
  return (old.at(-1)?.at ?? 0) <= (more[0]?.at ?? 0) ? all : all.sort((a, b) => a.at - b.at)
}

export type ReadPage = (query: LogQuery, signal: AbortSignal) => Promise<LogPage>

const PAGE = 500
const ENOUGH = 100
const LOOKS_MAX = 20
/** The stream tells when something was logged, whichever server kept it; one that was missed is looked for. */
const EVERY_MS = 10_000
/** Soon after a failure, and after a run's end: its last words may still be on their way. */
const AGAIN_MS = 2000
const SOON_MS = 150
/** What is kept on the page; the rest is in the file. */
export const KEPT_MAX = 5000
const LAST_LOOKS = 3

/** Reads the logs of one run under one filter, until it is stopped. */
export class LogFollower {
  private state: LogState = NOTHING
  private older: string | null = null
  private position: string | null = null
  private key = 0
  private running = false
  private left = LAST_LOOKS
  private due = Infinity
  private timer: ReturnType<typeof setTimeout> | undefined
  private reading: Promise<void> | null = null
  private readonly abort = new AbortController()

  constructor(
    private readonly read: ReadPage,
    private readonly query: LogQuery,
    private readonly tell: (state: LogState) => void,
  ) {}

  start(): void {
    void this.once(() => this.begin())
  }

  stop(): void {
    this.abort.abort()
    clearTimeout(this.timer)
  }

  /** Something has happened in the run: look soon. */
  nudge(running: boolean): void {
    this.running = running
    this.left = LAST_LOOKS
    this.plan(SOON_MS)
  }

  /** Read what is older. */
  earlier(): void {
    void this.once(() => this.back(PAGE))
  }

  private async begin(): Promise<void> {
    const page = await this.read({ ...this.query, order: 'newest', limit: PAGE }, this.abort.signal)
    this.older = page.next
    this.position = page.position
    this.set({ entries: this.numbered(page.items), earlier: page.next !== null, loaded: page.items.length > 0 || page.next === null })
    if (page.items.length < ENOUGH) await this.back(ENOUGH - page.items.length)
    this.set({ loaded: true })
  }

  /** Older pages until there are so many more entries: under a filter, a page may have none. */
  private async back(wanted: number): Promise<void> {
    let found = 0
    for (let look = 0; this.older !== null && found < wanted && look < LOOKS_MAX; look += 1) {
      const page = await this.read({ ...this.query, order: 'newest', limit: PAGE, cursor: this.older }, this.abort.signal)
      this.older = page.next
      found += page.items.length
      this.set({ entries: [...this.numbered(page.items), ...this.state.entries], earlier: page.next !== null })
    }
  }

  private async forward(): Promise<void> {
    for (let more = true; more; ) {
      const page = await this.read({ ...this.query, limit: PAGE, cursor: this.position ?? '' }, this.abort.signal)
      this.position = page.position ?? this.position
      more = page.next !== null
      if (page.items.length > 0) this.add(this.numbered(page.items))
    }
  }

  private add(items: readonly Shown[]): void {
    const all = joined(this.state.entries, items)
    const cut = all.length > KEPT_MAX
    // Whoever looks for what was cut off here finds it in the file: the older pages begin elsewhere.
    if (cut) this.older = null
    this.set({ entries: cut ? all.slice(-KEPT_MAX) : all, earlier: this.older !== null })
  }

  private numbered(items: readonly LogEntry[]): Shown[] {
    return items.map((item) => ({ ...item, key: (this.key += 1) }))
  }

  /** Look in a while, or earlier if that was planned: who is told again and again must look some time. */
  private plan(ms: number): void {
    const due = Date.now() + ms
    if (this.abort.signal.aborted || due >= this.due) return
    clearTimeout(this.timer)
    this.due = due
    this.timer = setTimeout(() => {
      this.due = Infinity
      void this.once(() => (this.position === null ? this.begin() : this.forward()))
    }, ms)
  }

  /** One read at a time; the next is planned behind it while anything may come. */
  private async once(work: () => Promise<void>): Promise<void> {
    while (this.reading) await this.reading
    if (this.abort.signal.aborted) return
    this.reading = work()
      .then(
        () => this.set({ error: null }),
        (error: unknown) => this.set({ error }),
      )
      .finally(() => {
        this.reading = null
      })
    await this.reading
    if (!this.running) this.left -= 1
    const quiet = this.running && this.state.error === null
    if (this.running || this.left > 0) this.plan(quiet ? EVERY_MS : AGAIN_MS)
  }

  private set(change: Partial<LogState>): void {
    if (this.abort.signal.aborted) return
    const same = Object.entries(change).every(([name, value]) => this.state[name as keyof LogState] === value)
    if (same) return
    this.state = { ...this.state, ...change }
    this.tell(this.state)
  }
}

/** A file is put together in the page's memory. */
export const FILE_ENTRIES_MAX = 200_000

export interface LogFile {
  lines: string[]
  /** Whether there are later entries, which it has no room for. */
  cut: boolean
}

/** All that is meant as lines of a file: time, level, task, text. */
export async function fileOf(read: ReadPage, query: LogQuery, nameOf: (task: string) => string, signal: AbortSignal): Promise<LogFile> {
  const lines: string[] = []
  let cursor: string | null = ''
  while (cursor !== null && lines.length < FILE_ENTRIES_MAX) {
    const page: LogPage = await read({ ...query, limit: 1000, cursor }, signal)
    lines.push(...page.items.map((item) => `${lineOf(item, nameOf)}\n`))
    cursor = page.next
  }
  return { lines, cut: cursor !== null }
}

export function lineOf(item: LogEntry, nameOf: (task: string) => string): string {
  return [new Date(item.at).toISOString(), item.level ?? '-', `${nameOf(item.task)}#${item.attempt}`, item.text].join(' ')
}
