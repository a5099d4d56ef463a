/** What a task did, as a story: made, claimed, failed, tried again, ended. */
import { failureOf, type Attempt, type Task } from '@/api/types'
import { stateWord, useT } from '@/i18n'
import { Span, Time } from '@/parts/clock'
import { Icon, type IconName } from '@/parts/icons'
import { lookOf } from '@/parts/status'

export function Activity({ task, attempts }: { task: Task; attempts: readonly Attempt[] }) {
  const t = useT()
  return (
    <ol className="text-sm">
      <Step at={task.createdAt} state="queued" text={task.queue ? t('queued for {queue}', { queue: task.queue }) : t('made')} />
      {attempts.map((attempt) => (
        <li key={attempt.id}>
          <ol>
            <Step at={attempt.claimedAt} state="running" icon="start_run" text={t('attempt {n} by {worker}', { n: attempt.number, worker: attempt.workerId })} />
            {attempt.log && (
              <li>
                <pre tabIndex={0} aria-label={t('Log')} className="mb-2 ml-6 max-h-60 overflow-auto rounded-lg bg-sunk p-2 font-mono text-xs whitespace-pre-wrap">
                  {attempt.log}
                </pre>
              </li>
            )}
            {attempt.finishedAt && (
              <Step
                at={attempt.finishedAt}
                state={attempt.state}
                text={`${stateWord(t, attempt.state)}${failureOf(attempt.error) ? `: ${failureOf(attempt.error)?.message}` : ''}`}
                from={attempt.claimedAt}
              />
            )}
          </ol>
        </li>
      ))}
      {task.waitKey && !task.finishedAt && (
        <Step at={task.startedAt ?? task.createdAt} state="waiting" text={t('waits for signal "{key}"', { key: task.waitKey })} />
      )}
      {task.dueAt && <Step at={task.dueAt} state="waiting" icon="due" text={t('due')} />}
      {task.finishedAt && (
        <Step at={task.finishedAt} state={task.state} text={`${t('task')} ${stateWord(t, task.state)}${task.action ? ` → ${task.action}` : ''}`} />
      )}
    </ol>
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
  const look = lookOf(state)
  return (
    <li className="relative mb-2 flex items-start gap-2 before:absolute before:top-5 before:-bottom-2 before:left-2 before:w-px before:bg-line last:before:hidden">
      <Icon name={icon ?? look.icon} className={`mt-0.5 ${look.text}`} />
      <span className="min-w-0 flex-1 wrap-anywhere">
        {text}
        {from && (
          <span className="text-xs text-soft">
            {' '}
            (<Span from={from} to={at} />)
          </span>
        )}
      </span>
      <span className="text-xs leading-5 text-soft">
        <Time at={at} />
      </span>
    </li>
  )
}
