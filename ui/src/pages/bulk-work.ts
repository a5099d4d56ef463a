/** Acts on many runs: which there are, what each makes sense for, and how a job is asked for. */
import { call } from '@/api/client'
import { hasEnded, type BulkJob, type Run } from '@/api/types'

export type Act = 'cancel' | 'retry' | 'rerun' | 'delete'

/** The server takes only such runs of what a filter finds; the same is counted here before. */
const FITTING: Record<Act, string> = {
  cancel: 'status:queued,running,waiting',
  retry: 'status:failed',
  rerun: '',
  delete: 'status:succeeded,failed,cancelled',
}

/** A filter for those of its runs that an act makes sense for. */
export function fitting(act: Act, q: string): string {
  return `${q} ${FITTING[act]}`.trim()
}

/** Whether an act makes sense for a run. */
export function fits(act: Act, run: Pick<Run, 'state'>): boolean {
  if (act === 'retry') return run.state === 'failed'
  if (act === 'rerun') return true
  return act === 'delete' ? hasEnded(run.state) : !hasEnded(run.state)
}

/** Ask the server for a job; it goes on whatever becomes of this page. */
export const startJob = (act: Act, what: { q: string } | { ids: string[] }) => call<BulkJob>('bulk', { body: { act, ...what } })

export const stopJob = (id: string) => call<BulkJob>(`bulk/${encodeURIComponent(id)}/stop`, { method: 'POST' })
