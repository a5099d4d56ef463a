/** The way a run came to a question: what ended before it was asked, the last of it. */
import { useQuery } from '@tanstack/react-query'

import { endedTasksQuery } from '@/api/queries'
import type { Checkpoint, Task } from '@/api/types'
import { asWritten, plainNode } from '@/graph/names'
import { useT } from '@/i18n'
import { Icon } from '@/parts/icons'
import { StatusIcon } from '@/parts/status'

const STEPS_MAX = 5

/** Branches of fan-outs and what lies inside them are not steps of their own. */
export function stepsBefore(tasks: readonly Task[], item: Pick<Checkpoint, 'taskId' | 'createdAt'>): Task[] {
  return tasks
    .filter((task) => task.id !== item.taskId && !/~\d+(~|$)/.test(task.id) && plainNode(task.node) !== '')
    .filter((task) => task.finishedAt !== null && task.finishedAt <= item.createdAt)
    .sort((a, b) => (a.finishedAt ?? 0) - (b.finishedAt ?? 0) || a.step - b.step)
}

export function PathSoFar({ item }: { item: Checkpoint }) {
  const t = useT()
  const steps = stepsBefore(useQuery(endedTasksQuery(item.runId)).data?.items ?? [], item)
  if (steps.length === 0) return null
  const left = steps.length - STEPS_MAX
  return (
    <ol aria-label={t('The path so far')} className="flex flex-wrap items-center gap-x-1.5 gap-y-1 px-4 pb-3 text-xs">
      {left > 0 && <li className="text-soft">+{left} …</li>}
      {steps.slice(-STEPS_MAX).map((task) => (
        <li key={task.id} className="flex items-center gap-1.5">
          <StatusIcon state={task.state} size={12} />
          {lastOf(task.node)}
          <Icon name="forward" size={12} className="text-soft" />
        </li>
      ))}
      <li className="font-medium">{lastOf(item.node)}</li>
    </ol>
  )
}

function lastOf(path: string): string {
  return asWritten(path.replace(/^plan\//, ''))
}
