/** Another run from a task on: what came before is kept, and the task can be given another input. */
import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'

import { forkRun, previewRetry, useAct } from '@/api/actions'
import { taskQuery } from '@/api/queries'
import type { Run, Task } from '@/api/types'
import { useT } from '@/i18n'
import { Button, Skeleton } from '@/parts/basics'
import { Code } from '@/parts/code'
import { Dialog } from '@/parts/dialog'
import { Failed } from '@/parts/feedback'
import { useCanAct } from '@/shell/health'

import { useNames } from './names'

interface Props {
  run: Run
  taskId: string
  onClose: () => void
}

export function ForkDialog({ run, taskId, onClose }: Props) {
  const t = useT()
  const names = useNames()
  const task = useQuery(taskQuery(run.id, taskId))
  return (
    <Dialog title={t('Fork from {task}', { task: names.ofTask(taskId) })} wide onClose={onClose}>
      <p className="mb-3 text-sm text-soft">{t('A run of its own begins here. What was done before this task is kept, and this run stays as it is.')}</p>
      {task.error && !task.data && <Failed error={task.error} retry={() => void task.refetch()} />}
      {task.data ? <ForkForm run={run} task={task.data} onClose={onClose} /> : !task.error && <Skeleton rows={3} />}
    </Dialog>
  )
}

/** What a task is to be given: undefined for what it had, or why the text is no JSON. */
export function inputOf(text: string, before: string): { input?: unknown; problem: string } {
  if (text.trim() === before.trim()) return { problem: '' }
  try {
    return { input: JSON.parse(text) as unknown, problem: '' }
  } catch (error) {
    return { problem: (error as Error).message }
  }
}

function ForkForm({ run, task, onClose }: { run: Run; task: Task; onClose: () => void }) {
  const t = useT()
  const act = useAct()
  const canAct = useCanAct()
  const navigate = useNavigate()
  const [before] = useState(() => JSON.stringify(task.input ?? null, null, 2))
  const [text, setText] = useState(before)
  const { input, problem } = inputOf(text, before)
  const start = async () => {
    const started = await act(forkRun(run.id, task.id, input), t('Run started'), 'runs')
    if (!started) return
    onClose()
    void navigate({ to: '/runs/$id', params: { id: started.id } })
  }
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        void start()
      }}
    >
      <Redone run={run} taskId={task.id} />
      {task.kind === 'call' && (
        <>
          <p aria-hidden="true" className="mb-1 text-xs font-medium text-soft">
            {t('Input')}
          </p>
          <Code text={text} language="json" label={t('Input')} className="mb-1 max-h-72 overflow-auto rounded border border-line bg-sunk" onChange={setText} />
          <p role="status" className={`mb-3 min-h-4 text-xs ${problem ? 'text-bad' : 'text-soft'}`}>
            {problem || (input === undefined ? t('As it was given before') : t('Other than before'))}
          </p>
        </>
      )}
      <div className="flex justify-end gap-2">
        <Button onClick={onClose}>{t('Back')}</Button>
        <Button type="submit" look="main" icon="fork" disabled={!canAct || problem !== ''}>
          {t('Fork')}
        </Button>
      </div>
    </form>
  )
}

function Redone({ run, taskId }: { run: Run; taskId: string }) {
  const t = useT()
  const names = useNames()
  const read = useQuery({ queryKey: ['redone', run.id, taskId], queryFn: () => previewRetry(run.id, taskId), retry: false })
  if (!read.data?.redone.length) return null
  return (
    <div className="mb-3 text-sm">
      <p className="mb-1">{t('This task and {n} after it are done again:', { n: read.data.redone.length })}</p>
      <ul className="max-h-32 overflow-auto font-mono text-xs" tabIndex={0}>
        {read.data.redone.map((id) => (
          <li key={id}>{names.ofTask(id)}</li>
        ))}
      </ul>
    </div>
  )
}
