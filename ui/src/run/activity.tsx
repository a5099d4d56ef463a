/** What a task did, as a story: made, claimed, what it said and called, failed, tried again, ended. */
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { type ReactNode, useState } from 'react'

import { taskSessionsQuery } from '@/api/envs'
import { taskActionsQuery } from '@/api/ledger'
import { type Action, type Attempt, failureOf, type Task } from '@/api/types'
import { stateWord, useT } from '@/i18n'
import { Span, Time } from '@/parts/clock'
import { Icon, type IconName } from '@/parts/icons'
import { Json } from '@/parts/json'
import { lookOf, Status } from '@/parts/status'

import { AgentLog } from './agent-log'
import { Effect } from './effects'

interface Props {
  runId: string
  task: Task
  attempts: readonly Attempt[]
  /** Raised whenever the run has moved. */
  seq: number
}

export function Activity({ runId, task, attempts, seq }: Props) {
  const t = useT()
  const called = task.kind === 'call'
  const actions = useQuery({ ...taskActionsQuery(runId, task.id, seq), enabled: called && attempts.length > 0 }).data?.items ?? []
  return (
    <>
      {called && attempts.length > 0 && <Places runId={runId} taskId={task.id} />}
      <ol className="text-sm">
        <Step at={task.createdAt} state="queued" text={task.queue ? t('queued for {queue}', { queue: task.queue }) : t('made')} />
        {attempts.map((attempt) => (
          <AttemptSteps key={attempt.id} attempt={attempt} actions={actions.filter((one) => one.attemptId === attempt.id)} />
        ))}
        {task.waitKey && !task.finishedAt && (
          <Step at={task.startedAt ?? task.createdAt} state="waiting" text={t('waits for signal "{key}"', { key: task.waitKey })} />
        )}
        {task.dueAt && <Step at={task.dueAt} state="waiting" icon="due" text={t('due')} />}
        {task.finishedAt && (
          <Step at={task.finishedAt} state={task.state} text={`${t('task')} ${stateWord(t, task.state)}${task.action ? ` → ${task.action}` : ''}`} />
        )}
      </ol>
    </>
  )
}

/** The environments a task has or had, to look into. */
function Places({ runId, taskId }: { runId: string; taskId: string }) {
  const t = useT()
  const found = useQuery(taskSessionsQuery(runId)).data?.items.filter((one) => one.taskId === taskId) ?? []
  if (found.length === 0) return null
  return (
    <ul aria-label={t('Environments')} className="mb-3 flex flex-wrap gap-2 text-sm">
      {found.map((one) => (
        <li key={one.id}>
          <Link
            to="/environments"
            search={{ id: one.id, state: 'all', run: runId }}
            className="inline-flex h-7 items-center gap-1.5 rounded border border-line px-2 hover:bg-sunk"
          >
            <Icon name="environments" size={14} className="text-accent" />
            {one.resource} <Status state={one.state} plain />
          </Link>
        </li>
      ))}
    </ul>
  )
}

function AttemptSteps({ attempt, actions }: { attempt: Attempt; actions: readonly Action[] }) {
  const t = useT()
  const failure = failureOf(attempt.error)
  return (
    <li>
      <ol>
        <Step at={attempt.claimedAt} state="running" icon="start_run" text={t('attempt {n} by {worker}', { n: attempt.number, worker: attempt.workerId })} />
        {actions.map((one) => (
          <ActionStep key={one.id} action={one} />
        ))}
        {attempt.log && (
          <li>
            <AgentLog log={attempt.log} />
          </li>
        )}
        {attempt.finishedAt && (
          <Step at={attempt.finishedAt} state={attempt.state} text={`${stateWord(t, attempt.state)}${failure ? `: ${failure.message}` : ''}`} from={attempt.claimedAt} />
        )}
      </ol>
    </li>
  )
}

/** One thing it did outside: the tool, what that may change, how it went; what went in and came out on demand. */
function ActionStep({ action }: { action: Action }) {
  const t = useT()
  const [open, setOpen] = useState(false)
  const state = action.state === 'unknown' ? 'waiting' : action.state
  return (
    <Line at={action.startedAt} state={state} icon={action.state === 'unknown' ? 'warning' : undefined}>
      <span className="flex flex-wrap items-center gap-x-1.5">
        <button type="button" data-tool={action.tool} aria-expanded={open} className="flex items-center gap-1 font-mono text-xs font-medium" onClick={() => setOpen(!open)}>
          <Icon name={open ? 'fold' : 'unfold'} size={12} />
          {action.tool}
        </button>
        <Effect name={action.effect} />
        <span className="text-xs text-soft">{action.state === 'unknown' ? t('may have happened') : stateWord(t, action.state)}</span>
        {action.finishedAt && <Took from={action.startedAt} to={action.finishedAt} />}
      </span>
      {action.summary && <span className="block text-xs text-soft">{action.summary}</span>}
      {action.error && <span className="block text-xs text-bad">{action.error}</span>}
      {open && (
        <span className="mt-1 grid gap-2">
          <Json value={action.input} name={t('Input')} />
          {action.output !== null && <Json value={action.output} name={t('Output')} />}
        </span>
      )}
    </Line>
  )
}

interface StepProps {
  at: number
  state: string
  icon?: IconName
  text: string
  from?: number
}

function Step({ at, state, icon, text, from }: StepProps) {
  return (
    <Line at={at} state={state} icon={icon}>
      {text}
      {from && <Took from={from} to={at} />}
    </Line>
  )
}

function Took({ from, to }: { from: number; to: number }) {
  return (
    <span className="text-xs text-soft">
      {' '}
      (<Span from={from} to={to} />)
    </span>
  )
}

function Line({ at, state, icon, children }: { at: number; state: string; icon?: IconName; children: ReactNode }) {
  const look = lookOf(state)
  return (
    <li className="relative mb-2 flex items-start gap-2 before:absolute before:top-5 before:-bottom-2 before:left-2 before:w-px before:bg-line last:before:hidden">
      <Icon name={icon ?? look.icon} className={`mt-0.5 ${look.text}`} />
      <span className="min-w-0 flex-1 wrap-anywhere">{children}</span>
      <span className="text-xs leading-5 text-soft">
        <Time at={at} />
      </span>
    </li>
  )
}
