/** Runs as a table other programs read. */
import { failureOf, type Run } from '@/api/types'

const COLUMNS = ['id', 'flow', 'version', 'state', 'created', 'started', 'finished', 'duration_ms', 'failures', 'error'] as const

/** One field: quoted where it must be, and never taken for a formula. */
export function cell(value: unknown): string {
  if (value === null || value === undefined) return ''
  const text = String(value)
  const safe = typeof value === 'string' && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

export function csvOf(runs: readonly Run[]): string {
  const time = (at: number | null) => (at ? new Date(at).toISOString() : '')
  const rows = runs.map((run) =>
    [
      ...[run.id, run.flow, run.version, run.state, time(run.createdAt), time(run.startedAt), time(run.finishedAt)],
      ...[run.finishedAt ? run.finishedAt - run.createdAt : null, run.failures, failureOf(run.error)?.message ?? ''],
    ]
      .map(cell)
      .join(','),
  )
  return `${[COLUMNS.join(','), ...rows].join('\r\n')}\r\n`
}
