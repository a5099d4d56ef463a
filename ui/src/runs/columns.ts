/** Which columns a list of runs has, and in which order its rows stand. */
import { failureOf, outcomeOf, type Run } from '@/api/types'
import { asWritten } from '@/graph/names'
import type { Text } from '@/i18n'

export const COLUMNS = ['run', 'started', 'duration', 'open', 'version', 'project', 'tags', 'priority', 'now'] as const
export type Column = (typeof COLUMNS)[number]

export const USUAL: readonly Column[] = ['run', 'started', 'duration', 'now']

export const HEADS: Record<Column, Text> = {
  run: 'Run',
  started: 'Started',
  duration: 'Duration',
  open: 'Open tasks',
  version: 'Version',
  project: 'Project',
  tags: 'Tags',
  priority: 'Priority',
  now: 'Now, or why it failed',
}

const WIDTHS: Record<Column, string> = {
  run: '3.75rem',
  started: '9rem',
  duration: '4.5rem',
  open: '5rem',
  version: '4rem',
  project: 'minmax(4rem,0.6fr)',
  tags: 'minmax(5rem,1fr)',
  priority: '4rem',
  now: 'minmax(7rem,1.6fr)',
}

/** The tracks of a wide page's grid: choosing, status and flow come first. */
export function tracks(columns: readonly Column[]): string {
  return ['1.75rem', '6.5rem', 'minmax(6rem,1fr)', ...columns.map((column) => WIDTHS[column])].join(' ')
}

/** Columns by name, in the order of the table; what is unknown is left out, none means the usual ones. */
export function readColumns(names: readonly string[]): readonly Column[] {
  const found = COLUMNS.filter((column) => names.includes(column))
  return found.length > 0 ? found : USUAL
}

export type SortKey = 'status' | 'flow' | Exclude<Column, 'now' | 'tags'>

/** `-started` is the latest first. Nothing is as the server lists them. */
export function sortRuns(runs: readonly Run[], sort: string, now: number): readonly Run[] {
  if (!sort) return runs
  const down = sort.startsWith('-')
  const value = VALUES[sort.replace(/^-/, '') as SortKey]
  if (!value) return runs
  const compare = (a: Run, b: Run) => {
    const [x, y] = [value(a, now), value(b, now)]
    return typeof x === 'number' && typeof y === 'number' ? x - y : String(x).localeCompare(String(y))
  }
  return [...runs].sort((a, b) => (down ? -compare(a, b) : compare(a, b)))
}

const VALUES: Record<SortKey, (run: Run, now: number) => string | number> = {
  status: (run) => outcomeOf(run),
  flow: (run) => run.flow,
  run: (run) => run.id,
  started: (run) => run.createdAt,
  duration: (run, now) => (run.finishedAt ?? now) - run.createdAt,
  open: (run) => run.open,
  version: (run) => run.version ?? 0,
  project: (run) => run.project,
  priority: (run) => run.priority,
}

export const isSortable = (key: string): key is SortKey => key in VALUES

/** What a press on a heading makes of the order: up, down, then as it was. */
export function nextSort(sort: string, key: SortKey): string {
  if (sort === key) return `-${key}`
  return sort === `-${key}` ? '' : key
}

/** What stands in a column's cell as text, where it is only text. */
export function cellText(run: Run, column: Column): string {
  switch (column) {
    case 'open':
      return String(run.open)
    case 'version':
      return run.version === null ? '' : `v${run.version}`
    case 'project':
      return run.project
    case 'priority':
      return String(run.priority)
    case 'tags':
      return Object.entries((run.tags ?? {}) as Record<string, string>)
        .map(([name, value]) => `${name}=${value}`)
        .join(' ')
    default:
      return failureOf(run.error)?.message ?? asWritten(run.node)
  }
}
