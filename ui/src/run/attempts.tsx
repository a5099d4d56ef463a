/** Attempts of a task, and what differs between two of them. */
import { useState } from 'react'

import { type Attempt, failureOf, hasEnded, type Task } from '@/api/types'
import { ValueDiff } from '@/parts/code'
import { useT } from '@/i18n'
import { FIELD } from '@/parts/basics'
import { Span, Time } from '@/parts/clock'
import { CopyButton } from '@/parts/copy'
import { Empty } from '@/parts/feedback'
import { Status } from '@/parts/status'

export function Attempts({ task, attempts }: { task: Task; attempts: readonly Attempt[] }) {
  const t = useT()
  const [pair, setPair] = useState<[number, number] | null>(null)
  if (attempts.length === 0) return <NoAttempts task={task} />
  const [a, b] = pair ?? [Math.max(1, attempts.length - 1), attempts.length]
  const pick = (number: number) => comparable(attempts.find((one) => one.number === number))
  return (
    <>
      <ul>
        {[...attempts].reverse().map((attempt) => (
          <li key={attempt.id} className="border-b border-line py-2 text-sm">
            <span className="flex items-center gap-2">
              <b>#{attempt.number}</b>
              <Status state={attempt.state} />
              <span className="mr-auto text-soft">{attempt.workerId}</span>
              <Span from={attempt.claimedAt} to={attempt.finishedAt} />
            </span>
            <span className="block text-xs text-soft">
              <Time at={attempt.claimedAt} />
              {!attempt.finishedAt && attempt.leaseUntil && (
                <>
                  {' '}
                  · {t('lease until')} <Time at={attempt.leaseUntil} />
                </>
              )}
            </span>
            {attempt.externalRef && <Pod of={attempt.externalRef} />}
            {failureOf(attempt.error) && <span className="block text-bad">{failureOf(attempt.error)?.message}</span>}
          </li>
        ))}
      </ul>
      {attempts.length > 1 && (
        <section className="mt-3">
          <h3 className="mb-1 flex items-center gap-2 text-sm font-semibold">
            {t('Difference')}
            {[a, b].map((value, side) => (
              <select
                key={side}
                aria-label={side ? t('To attempt') : t('From attempt')}
                className={`${FIELD} w-20`}
                value={value}
                onChange={(event) => setPair(side ? [a, Number(event.target.value)] : [Number(event.target.value), b])}
              >
                {attempts.map((one) => (
                  <option key={one.number} value={one.number}>
                    #{one.number}
                  </option>
                ))}
              </select>
            ))}
          </h3>
          <ValueDiff before={pick(a)} after={pick(b)} label={t('Difference')} />
        </section>
      )}
    </>
  )
}

/** The pod that an attempt is: NAMESPACE/NAME, and its uid once it was seen. */
function Pod({ of }: { of: string }) {
  const t = useT()
  const [namespace = '', name = ''] = of.split('/')
  return (
    <span className="mt-1 flex flex-wrap items-center gap-2 text-xs">
      <span className="text-soft">{t('Pod')}</span>
      <code className="min-w-0 font-mono wrap-anywhere">{`${namespace}/${name}`}</code>
      <CopyButton text={`kubectl -n ${namespace} describe pod ${name}`} label="kubectl" />
    </span>
  )
}

/** Many tasks never have an attempt of their own; only one that waits for a worker has a reason to be told. */
function NoAttempts({ task }: { task: Task }) {
  const t = useT()
  if (task.total > 0) return <Empty title={t('Its branches have the attempts.')} />
  if (hasEnded(task.state) || !task.queue) return <Empty title={t('It needed no worker.')} />
  return <Empty title={t('No worker has taken it yet.')} command={`windlass why ${task.id.split('~')[0]}`} />
}

/** What of an attempt is worth comparing: not its ids and clock times, which always differ. */
function comparable(attempt: Attempt | undefined): unknown {
  if (!attempt) return null
  const took = attempt.finishedAt ? attempt.finishedAt - attempt.claimedAt : null
  const { state, workerId, queue, error, log } = attempt
  return { state, workerId, queue, error, tookMs: took, log: log?.split('\n') ?? null }
}
