/** Bulk jobs as they go: how far each is, what was refused, and a way to stop it. The server does the
 * work, so it goes on when the page is closed, and is found again when it is opened. */
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useEffect } from 'react'

import { useAct } from '@/api/actions'
import { bulkJobQuery, bulkJobsQuery } from '@/api/queries'
import type { BulkJob } from '@/api/types'
import { type Text, useT } from '@/i18n'
import { Button } from '@/parts/basics'
import { Dialog } from '@/parts/dialog'
import { useCanAct, useMayAct } from '@/shell/health'

import { stopJob } from './bulk-work'

const ACTS: Record<BulkJob['act'], Text> = { cancel: 'Cancel', retry: 'Retry', rerun: 'Rerun', delete: 'Delete', answer: 'Answer' }

export function BulkJobs({ open, onOpen }: { open: string | undefined; onOpen: (id: string | undefined) => void }) {
  const t = useT()
  const jobs = useQuery(bulkJobsQuery).data?.items ?? []
  return (
    <>
      {jobs
        .filter((job) => job.id !== open)
        .map((job) => (
          <div key={job.id} data-job={job.id} className="mb-1 flex items-center gap-3 rounded bg-run-soft px-3 py-1 text-sm">
            <span>{t('{act}: {done} of {total}', { act: t(ACTS[job.act]), done: job.done + job.failed, total: job.total })}</span>
            <progress aria-label={t('Progress')} className="h-2 w-40 accent-accent" max={job.total} value={job.done + job.failed} />
            <Button look="quiet" className="ml-auto" onClick={() => onOpen(job.id)}>
              {t('Details')}
            </Button>
          </div>
        ))}
      {open && <JobDialog id={open} onClose={() => onOpen(undefined)} />}
    </>
  )
}

function JobDialog({ id, onClose }: { id: string; onClose: () => void }) {
  const t = useT()
  const job = useQuery(bulkJobQuery(id)).data
  const queries = useQueryClient()
  const over = job !== undefined && job.state !== 'working'
  useEffect(() => {
    if (over) for (const key of ['runs', 'matched', 'stats']) void queries.invalidateQueries({ queryKey: [key] })
  }, [over, queries])
  return (
    <Dialog title={job ? t(ACTS[job.act]) : '…'} onClose={onClose}>
      {job && <BulkProgress job={job} />}
    </Dialog>
  )
}

export function BulkProgress({ job }: { job: BulkJob }) {
  const t = useT()
  const act = useAct()
  const canAct = useCanAct()
  const mayAct = useMayAct()
  const tried = job.done + job.failed
  return (
    <>
      <div className="mb-3 flex items-center gap-3">
        <progress aria-label={t('Progress')} className="h-3 flex-1 accent-accent" max={Math.max(1, job.total)} value={tried} />
        <span role="status" className="text-sm tabular-nums">
          {tried} / {job.total}
        </span>
        {job.state === 'working' && mayAct && (
          <Button disabled={!canAct} onClick={() => void act(stopJob(job.id), '', 'bulk')}>
            {t('Stop')}
          </Button>
        )}
      </div>
      {job.state !== 'working' && (
        <p className="mb-2 text-sm">
          {t('{done} done, {failed} refused', { done: job.done, failed: job.failed })}
          {job.left > 0 && ` · ${t('{n} left as they were', { n: job.left })}`}
        </p>
      )}
      {job.refused.length > 0 && (
        <>
          <p className="mb-1 text-sm font-semibold text-bad">{t('{n} refused', { n: job.failed })}</p>
          <ul className="max-h-60 overflow-auto rounded border border-line text-sm" tabIndex={0}>
            {job.refused.map((one) => (
              <li key={one.id} className="border-b border-line px-2 py-1 last:border-0">
                <Link to="/runs/$id" params={{ id: one.id }} className="font-mono text-accent hover:underline">
                  {one.id.slice(0, 13)}
                </Link>{' '}
                {one.detail}
              </li>
            ))}
          </ul>
        </>
      )}
    </>
  )
}
