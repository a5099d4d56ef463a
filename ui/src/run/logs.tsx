/** What workers wrote, attempt by attempt; searched over all of it, not only what is on screen. */
import { useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'

import { call } from '@/api/client'
import type { Attempt, Page } from '@/api/types'
import { useT } from '@/i18n'
import { Button, FIELD, Skeleton } from '@/parts/basics'
import { Time } from '@/parts/clock'
import { Empty } from '@/parts/feedback'
import { Status } from '@/parts/status'

import { LogText } from './log-text'
import { useNames } from './names'

const LOG_MS = 2000

interface Props {
  runId: string
  seq: number
  running: boolean
  onSelect: (task: string) => void
}

export function LogsView({ runId, seq, running, onSelect }: Props) {
  const t = useT()
  const names = useNames()
  const [find, setFind] = useState('')
  const logs = useQuery({
    queryKey: ['logs', runId],
    queryFn: ({ signal }) => call<Page<Attempt>>(`runs/${runId}/attempts`, { query: { limit: 2000 }, signal }),
    // Logs grow while attempts run, and the stream does not tell of it.
    refetchInterval: running ? LOG_MS : false,
  })
  const { refetch } = logs
  useEffect(() => {
    const timer = setTimeout(() => void refetch(), 1000)
    return () => clearTimeout(timer)
  }, [seq, refetch])
  if (!logs.data) return <Skeleton rows={6} />
  const written = logs.data.items.filter((attempt) => attempt.log).sort((a, b) => a.claimedAt - b.claimedAt || a.number - b.number)
  const shown = written.filter((attempt) => attempt.log?.toLowerCase().includes(find.toLowerCase()))
  if (written.length === 0) return <Empty icon="logs" title={t('No attempt has written a log.')} command={`windlass run logs ${runId}`} />
  return (
    <>
      <div className="flex gap-2 border-b border-line p-2">
        <input
          type="search"
          aria-label={t('Find in the logs')}
          placeholder={t('Find in the logs')}
          value={find}
          onChange={(event) => setFind(event.target.value)}
          className={`${FIELD} w-full`}
        />
        {find && <Button onClick={() => setFind('')}>{t('Clear the filter')}</Button>}
      </div>
      <div className="min-h-0 flex-1 overflow-auto p-3" tabIndex={0} role="log" aria-live="off" aria-label={t('Logs')}>
        {shown.length === 0 && <Empty title={t('Nothing contains {q}', { q: find })} />}
        {shown.map((attempt) => (
          <section key={attempt.id} className="mb-3">
            <h2 className="flex flex-wrap items-center gap-2 text-xs">
              <button type="button" className="font-semibold text-accent hover:underline" onClick={() => onSelect(attempt.taskId)}>
                {names.ofTask(attempt.taskId)} #{attempt.number}
              </button>
              <Status state={attempt.state} /> <span className="text-soft">{attempt.workerId}</span> <Time at={attempt.claimedAt} />
            </h2>
            <LogText log={attempt.log ?? ''} find={find} />
          </section>
        ))}
      </div>
    </>
  )
}
