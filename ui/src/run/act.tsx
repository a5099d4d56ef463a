/** What a task did, as a story: made, claimed, failed, tried again, ended. */
import { failureOf, type Attempt, type Task } from '@/api/types'
import { stateWord, useT } from '@/i18n'
import { Span, Time } from '@/parts/clock'
import { lookOf } from '@/parts/status'

export function Act({ task, attempts }: { task: Task; attempts: readonly Attempt[] }) {
  const t = useT()
  return (
    <ol className="border-l-2 border-line pl-3 text-sm">
      <Step at={task.createdAt} icon="○" look="text-idle" text={task.queue ? t('queued for {queue}', { queue: task.queue }) : t('made')} />
      {attempts.map((attempt) => (
        <li key={attempt.id}>
          <ol>
            <Step at={attempt.claimedAt} icon="▶" look="text-run" text={t('attempt {n} by {worker}', { n: attempt.number, worker: attempt.workerId })} />
            {attempt.log && (
              <li>
                <pre tabIndex={0} aria-label={t('Log')} className="my-1 max-h-60 overflow-auto rounded bg-sunk p-2 font-mono text-xs whitespace-pre-wrap">
                  {attempt.log}
                </pre>
              </li>
            )}
            {attempt.finishedAt && (
              <Step
                at={attempt.finishedAt}
                icon={lookOf(attempt.state).icon}
                look={lookOf(attempt.state).text}
                text={`${stateWord(t, attempt.state)}${failureOf(attempt.error) ? `: ${failureOf(attempt.error)?.message}` : ''}`}
                from={attempt.claimedAt}
              />
            )}
          </ol>
        </li>
      ))}
      {task.waitKey && !task.finishedAt && (
        <Step at={task.startedAt ?? task.createdAt} icon="‖" look="text-wait" text={t('waits for signal "{key}"', { key: task.waitKey })} />
      )}
      {task.dueAt && <Step at={task.dueAt} icon="◷" look="text-wait" text={t('due')} />}
      {task.finishedAt && (
        <Step
          at={task.finishedAt}
          icon={lookOf(task.state).icon}
          look={lookOf(task.state).text}
          text={`${t('task')} ${stateWord(t, task.state)}${task.action ? ` → ${task.action}` : ''}`}
        />
      )}
    </ol>
  )
}

interface StepProps {
  at: number
  icon: string
  look: string
  text: string
  from?: number
}

function Step({ at, icon, look, text, from }: StepProps) {
  return (
    <li className="mb-1.5 flex items-baseline gap-2">
      <span aria-hidden="true" className={`w-4 ${look}`}>
        {icon}
      </span>
      <span className="min-w-0 flex-1 break-words">
        {text}
        {from && (
          <span className="text-xs text-soft">
            {' '}
            (<Span from={from} to={at} />)
          </span>
        )}
      </span>
      <span className="text-xs text-soft">
        <Time at={at} />
      </span>
    </li>
  )
}
