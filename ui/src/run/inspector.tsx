/** One task: what it did, its attempts, what went in and came out, and what to do about it. */
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useEffect, useRef, useState } from 'react'

import { previewRetry, retryRun, useAct } from '@/api/actions'
import { attemptsQuery, inboxQuery, taskQuery, whyQuery } from '@/api/queries'
import { failureOf, hasEnded, type Run } from '@/api/types'
import { useT } from '@/i18n'
import type { RunModel } from '@/live/model'
import { Detail as CheckpointDetail } from '@/pages/inbox'
import { Button, Choices, Skeleton } from '@/parts/basics'
import { Span } from '@/parts/clock'
import { Confirm } from '@/parts/dialog'
import { Failed, toastError } from '@/parts/feedback'
import { Json } from '@/parts/json'
import { Status } from '@/parts/status'
import { useCanAct } from '@/shell/health'
import { useKeys } from '@/shell/keys'

import { Act } from './act'
import { Attempts } from './attempts'
import { nameOf } from './tree'

const route = getRouteApi('/runs/$id')
const TABS = ['act', 'attempts', 'io', 'raw'] as const
type Tab = (typeof TABS)[number]

interface Props {
  run: Run
  model: RunModel
  taskId: string
  onSelect: (task: string | undefined) => void
}

export function Inspector({ run, model, taskId, onSelect }: Props) {
  const t = useT()
  const search = route.useSearch()
  const navigate = route.useNavigate()
  const queries = useQueryClient()
  const lite = model.tasks.get(taskId)
  const task = useQuery(taskQuery(run.id, taskId))
  const attempts = useQuery(attemptsQuery(run.id, taskId))
  // Payloads are not in the stream: read them again when the task has moved.
  const mark = `${lite?.state} ${lite?.attempts} ${lite?.generation}`
  useEffect(() => {
    void queries.invalidateQueries({ queryKey: ['task', run.id, taskId] })
    void queries.invalidateQueries({ queryKey: ['attempts', run.id, taskId] })
  }, [mark, queries, run.id, taskId])
  const aside = useRef<HTMLElement>(null)
  useEffect(() => {
    // On a narrow page the task lies below the view it was picked in.
    if (innerWidth < 1024) aside.current?.scrollIntoView({ block: 'start' })
  }, [taskId])
  const tab: Tab = TABS.find((one) => one === search.tab) ?? 'act'
  const go = (next: Tab) => void navigate({ search: (old) => ({ ...old, tab: next }), replace: true })
  useKeys(Object.fromEntries(TABS.map((one, at) => [String(at + 1), () => go(one)])))
  const names: Record<Tab, string> = { act: t('Act'), attempts: t('Attempts'), io: t('Input / output'), raw: '{ }' }
  const rows = attempts.data?.items ?? []
  return (
    <aside ref={aside} aria-label={t('Task')} className="w-full shrink-0 overflow-y-auto rounded-lg border border-line bg-panel lg:h-[max(26rem,calc(100vh-15rem))] lg:w-[26rem] xl:w-[30rem]">
      <header className="border-b border-line p-3">
        <div className="flex items-center gap-2">
          <h2 className="mr-auto min-w-0 truncate font-semibold">{lite ? nameOf(lite) : taskId.slice(run.id.length + 1)}</h2>
          {lite && <Status state={lite.state} />}
          <Button look="quiet" aria-label={t('Close')} onClick={() => onSelect(undefined)}>
            ✕
          </Button>
        </div>
        {lite && (
          <p className="text-xs text-soft">
            {lite.kind || t('task')} · <Span from={lite.startedAt ?? lite.createdAt} to={lite.finishedAt} />
            {lite.attempts > 0 && <> · {t('attempt {n}', { n: lite.attempts })}</>}
          </p>
        )}
        <WhyTask run={run} taskId={taskId} state={lite?.state ?? ''} error={lite?.error} />
        {lite && <TaskActions run={run} taskId={taskId} state={lite.state} onSelect={onSelect} />}
      </header>
      <div className="border-b border-line p-2">
        <Choices label={t('Task')} value={tab} choices={TABS.map((id) => ({ id, text: names[id] }))} onChange={go} />
      </div>
      <div className="p-3">
        {task.error && !task.data && <Failed error={task.error} retry={() => void task.refetch()} />}
        {!task.data && !task.error && <Skeleton rows={3} />}
        {task.data && tab === 'act' && <Act task={task.data} attempts={rows} />}
        {task.data && tab === 'attempts' && <Attempts task={task.data} attempts={rows} />}
        {task.data && tab === 'io' && (
          <div className="flex flex-col gap-3">
            <Json value={task.data.input} name={t('Input')} />
            <Json value={task.data.output} name={t('Output')} />
          </div>
        )}
        {task.data && tab === 'raw' && <Json value={{ task: task.data, attempts: rows }} name="task" />}
        {tab === 'act' && lite?.state === 'waiting' && <OpenCheckpoint taskId={taskId} />}
      </div>
    </aside>
  )
}

function WhyTask({ run, taskId, state, error }: { run: Run; taskId: string; state: string; error: unknown }) {
  const t = useT()
  const why = useQuery(whyQuery(run.id))
  const failure = failureOf(error)
  const reason = why.data?.reasons.find((one) => one.task === taskId)?.text
  const text = hasEnded(state) ? failure?.message : reason
  if (!text) return null
  return (
    <p className={`mt-1 text-sm ${state === 'failed' ? 'text-bad' : ''}`}>
      <b>{t('Why')}: </b>
      {text}
    </p>
  )
}

interface TaskActionsProps {
  run: Run
  taskId: string
  state: string
  onSelect: (task: string | undefined) => void
}

function TaskActions({ run, taskId, state }: TaskActionsProps) {
  const t = useT()
  const act = useAct()
  const canAct = useCanAct()
  const [redone, setRedone] = useState<string[] | null>(null)
  if (!hasEnded(run.state) || state === 'superseded') return null
  const preview = () => {
    previewRetry(run.id, taskId)
      .then((found) => setRedone(found.redone))
      .catch(toastError)
  }
  return (
    <div className="mt-2 flex flex-wrap gap-1.5">
      {state === 'failed' && (
        <Button look="main" disabled={!canAct} onClick={() => void act(retryRun(run.id, taskId), t('Retry started'), 'run', 'why')}>
          ↻ {t('Retry task')}
        </Button>
      )}
      <Button disabled={!canAct} onClick={preview}>
        {t('Retry from here')}
      </Button>
      {redone && (
        <Confirm
          title={t('Retry from here')}
          action={t('Retry from here')}
          onClose={() => setRedone(null)}
          onConfirm={() => {
            setRedone(null)
            void act(retryRun(run.id, taskId, true), t('Retry started'), 'run', 'why', 'outline')
          }}
        >
          <p className="mb-2">{t('This task and {n} after it are done again:', { n: redone.length })}</p>
          <ul className="max-h-48 overflow-auto font-mono text-xs" tabIndex={0}>
            {redone.map((id) => (
              <li key={id}>{id.slice(run.id.length + 1)}</li>
            ))}
          </ul>
        </Confirm>
      )}
    </div>
  )
}

function OpenCheckpoint({ taskId }: { taskId: string }) {
  const open = useQuery(inboxQuery('open'))
  const item = open.data?.items.find((one) => one.taskId === taskId)
  return item ? <CheckpointDetail item={item} onDone={() => undefined} /> : null
}
