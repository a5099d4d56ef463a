/** Why a task stands where it stands, and what can be done about it. */
import { useState } from 'react'

import { previewRetry, retryRun, useAct } from '@/api/actions'
import { errorNow, hasEnded, type Run } from '@/api/types'
import { useT } from '@/i18n'
import { Button } from '@/parts/basics'
import { Confirm } from '@/parts/dialog'
import { toastError } from '@/parts/feedback'
import { useCanAct, useMayAct } from '@/shell/health'

import { ForkDialog } from './fork'
import { useNames } from './names'
import { useWhy } from './why'

export function WhyTask({ run, taskId, state, error }: { run: Run; taskId: string; state: string; error: unknown }) {
  const t = useT()
  const why = useWhy(run)
  const failure = errorNow({ state, error })
  const text = (hasEnded(state) ? failure?.message : why.ofTask(taskId)) ?? ''
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
}

export function TaskActions({ run, taskId, state }: TaskActionsProps) {
  const t = useT()
  const act = useAct()
  const canAct = useCanAct()
  const names = useNames()
  const [redone, setRedone] = useState<string[] | null>(null)
  const [forking, setForking] = useState(false)
  const mayAct = useMayAct()
  if (!mayAct || !hasEnded(run.state) || state === 'superseded') return null
  const preview = () => {
    previewRetry(run.id, taskId)
      .then((found) => setRedone(found.redone))
      .catch(toastError)
  }
  return (
    <div className="mt-2 flex flex-wrap gap-1.5">
      {state === 'failed' && (
        <Button icon="retry" look="main" disabled={!canAct} onClick={() => void act(retryRun(run.id, taskId), t('Retry started'), 'run', 'why')}>
          {t('Retry task')}
        </Button>
      )}
      <Button disabled={!canAct} onClick={preview}>
        {t('Retry from here')}
      </Button>
      <Button icon="fork" disabled={!canAct} onClick={() => setForking(true)}>
        {t('Fork')}
      </Button>
      {forking && <ForkDialog run={run} taskId={taskId} onClose={() => setForking(false)} />}
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
              <li key={id}>{names.ofTask(id)}</li>
            ))}
          </ul>
        </Confirm>
      )}
    </div>
  )
}
