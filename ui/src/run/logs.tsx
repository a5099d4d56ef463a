/** What workers wrote, attempt by attempt; searched over all of it, not only what is on screen. */
import { useQuery } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'

import { call, saveAs } from '@/api/client'
import type { Attempt, Page } from '@/api/types'
import { plain } from '@/code/ansi'
import { useT } from '@/i18n'
import { Button, Choices, FIELD, Skeleton } from '@/parts/basics'
import { Time } from '@/parts/clock'
import { Empty } from '@/parts/feedback'
import { Status } from '@/parts/status'

import { type Level, LEVELS, linesWith } from './log-lines'
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
  const [wanted, setWanted] = useState(EVERYTHING)
  const { find, task, level } = wanted
  const [follow, setFollow] = useState(true)
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
  const box = useRef<HTMLDivElement>(null)
  useFollow(box, follow && running, logs.dataUpdatedAt)
  if (!logs.data) return <Skeleton rows={6} />
  const written = logs.data.items.filter((attempt) => attempt.log).sort((a, b) => a.claimedAt - b.claimedAt || a.number - b.number)
  if (written.length === 0) return <Empty icon="logs" title={t('No attempt has written a log.')} command={`windlass run logs ${runId}`} />
  const tasks = [...new Set(written.map((attempt) => attempt.taskId))]
  const shown = written.filter((attempt) => (!task || attempt.taskId === task) && linesWith(attempt.log ?? '', find, level).length > 0)
  const texts = () => shown.map((one) => `${names.ofTask(one.taskId)} #${one.number}\n${plain(one.log ?? '')}\n`)
  const keep = () => saveAs(new Blob(texts(), { type: 'text/plain' }), `${runId}.log`)
  return (
    <>
      <Bar wanted={wanted} tasks={tasks} running={running} follow={follow} onWant={setWanted} onFollow={setFollow} onKeep={keep} />
      <div ref={box} className="min-h-0 flex-1 overflow-auto p-3" tabIndex={0} role="log" aria-live="off" aria-label={t('Logs')}>
        {shown.length === 0 && (
          <Empty title={find ? t('Nothing contains {q}', { q: find }) : t('No line is so serious.')}>
            <Button onClick={() => setWanted(EVERYTHING)}>{t('Clear the filter')}</Button>
          </Empty>
        )}
        {shown.map((attempt) => (
          <section key={attempt.id} className="mb-3">
            <h2 className="flex flex-wrap items-center gap-2 text-xs">
              <button type="button" className="font-semibold text-accent hover:underline" onClick={() => onSelect(attempt.taskId)}>
                {names.ofTask(attempt.taskId)} #{attempt.number}
              </button>
              <Status state={attempt.state} /> <span className="text-soft">{attempt.workerId}</span> <Time at={attempt.claimedAt} />
            </h2>
            <LogText log={attempt.log ?? ''} find={find} level={level} />
          </section>
        ))}
      </div>
    </>
  )
}

interface Wanted {
  find: string
  task: string
  level: Level
}

const EVERYTHING: Wanted = { find: '', task: '', level: 'all' }

interface BarProps {
  wanted: Wanted
  tasks: readonly string[]
  running: boolean
  follow: boolean
  onWant: (wanted: Wanted) => void
  onFollow: (follow: boolean) => void
  onKeep: () => void
}

/** Which lines are meant, whether the end is kept in view, and having them as a file. */
function Bar({ wanted, tasks, running, follow, onWant, onFollow, onKeep }: BarProps) {
  const t = useT()
  const names = useNames()
  const words: Record<Level, string> = { all: t('All'), warning: t('Warnings'), error: t('Errors') }
  return (
    <div role="search" className="flex flex-wrap items-center gap-2 border-b border-line p-2">
      <input
        type="search"
        aria-label={t('Find in the logs')}
        placeholder={t('Find in the logs')}
        value={wanted.find}
        onChange={(event) => onWant({ ...wanted, find: event.target.value })}
        className={`${FIELD} min-w-40 flex-1`}
      />
      {tasks.length > 1 && (
        <select aria-label={t('Task')} className={`${FIELD} w-44`} value={wanted.task} onChange={(event) => onWant({ ...wanted, task: event.target.value })}>
          <option value="">
            {t('Task')}: {t('All')}
          </option>
          {tasks.map((one) => (
            <option key={one} value={one}>
              {names.ofTask(one)}
            </option>
          ))}
        </select>
      )}
      <Choices label={t('Level')} value={wanted.level} onChange={(level) => onWant({ ...wanted, level })} choices={LEVELS.map((id) => ({ id, text: words[id] }))} />
      {running && (
        <Button icon="down" aria-pressed={follow} onClick={() => onFollow(!follow)}>
          {t('Follow')}
        </Button>
      )}
      <Button icon="download" onClick={onKeep}>
        {t('Download')}
      </Button>
    </div>
  )
}

/** Keep the end in view while it grows, in the whole and in the log that grows. */
function useFollow(box: React.RefObject<HTMLDivElement | null>, on: boolean, mark: number): void {
  useEffect(() => {
    if (!on || !box.current) return
    const logs = box.current.querySelectorAll('pre')
    for (const one of [logs[logs.length - 1], box.current]) if (one) one.scrollTop = one.scrollHeight
  }, [box, on, mark])
}
