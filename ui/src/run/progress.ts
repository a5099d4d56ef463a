/** How far running tasks say they are. The stream does not carry it, so it is asked for while they run. */
import { useQuery } from '@tanstack/react-query'

import { call } from '@/api/client'
import { hasEnded, isWorkflowRun, type Run } from '@/api/types'

export interface Progress {
  percent: number | null
  text: string
}

const EVERY_MS = 1500
const TASKS_MAX = 500

interface Answer {
  nodes?: { taskId: string; status: string; state?: { progress?: number | null; message?: string | null; stage?: string | null } | null }[]
}

/** By task: the newest word of each that runs. */
export function progressOf(answer: Answer): ReadonlyMap<string, Progress> {
  const found = new Map<string, Progress>()
  for (const node of answer.nodes ?? []) {
    const at = node.taskId.lastIndexOf('@')
    if (node.status !== 'running' || !node.state || at < 0) continue
    const { progress, message, stage } = node.state
    const percent = typeof progress === 'number' ? Math.round(Math.min(1, Math.max(0, progress)) * 100) : null
    found.set(node.taskId.slice(0, at), { percent, text: message ?? stage ?? '' })
  }
  return found
}

const NONE: ReadonlyMap<string, Progress> = new Map()

export function useProgress(run: Run, tasks: number): ReadonlyMap<string, Progress> {
  const wanted = isWorkflowRun(run) && !hasEnded(run.state) && tasks <= TASKS_MAX
  const found = useQuery({
    queryKey: ['progress', run.id],
    queryFn: async ({ signal }) =>
      progressOf(await call<Answer>(`runs/${encodeURIComponent(run.id)}`, { accept: 'application/json', signal })),
    refetchInterval: EVERY_MS,
    enabled: wanted,
    structuralSharing: false,
  })
  return wanted ? (found.data ?? NONE) : NONE
}

export function progressText(progress: Progress): string {
  return [progress.percent === null ? '' : `${progress.percent} %`, progress.text].filter(Boolean).join(' · ')
}
