/** One task: what happened to it, what went in and came out, and what to do about it. */
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useEffect, useMemo, useRef } from 'react'

import { attemptsQuery, runCheckpointsQuery, taskQuery } from '@/api/queries'
import type { Attempt, Checkpoint, Run, Task } from '@/api/types'
import type { FlowGraph } from '@/graph/definition'
import { stateWord, useT } from '@/i18n'
import type { RunModel } from '@/live/model'
import { Decision } from '@/inbox/decision'
import { Choices, IconButton, Skeleton } from '@/parts/basics'
import { Span } from '@/parts/clock'
import { Failed } from '@/parts/feedback'
import { Json } from '@/parts/json'
import { Status } from '@/parts/status'
import { usePrefs } from '@/prefs'
import { Claims, wasVerified } from '@/plan/claims'
import { useKeys } from '@/shell/keys'

import { Activity } from './activity'
import { ApproveButton } from './approvals'
import { Attempts } from './attempts'
import { LogsView } from './logs'
import { useNames } from './names'
import { Ports } from './ports'
import { progressText, useProgress } from './progress'
import { clampWidth, Resizer } from './resizer'
import { TaskActions, WhyTask } from './task-actions'
import { nameOf } from './tree'

const route = getRouteApi('/runs/$id')
const TABS = ['activity', 'attempts', 'claims', 'checkpoint', 'io', 'logs', 'raw'] as const
type Tab = (typeof TABS)[number]
const LOG_MS = 2000

interface Props {
  run: Run
  model: RunModel
  graph: FlowGraph
  taskId: string
  onSelect: (task: string | undefined) => void
}

export function Inspector({ run, model, graph, taskId, onSelect }: Props) {
  const t = useT()
  const { inspector } = usePrefs()
  const aside = useRef<HTMLElement>(null)
  useEffect(() => {
    // On a narrow page the task lies below the view it was picked in.
    if (innerWidth < 1024) aside.current?.scrollIntoView({ block: 'start' })
  }, [taskId])
  return (
    <>
      <Resizer />
      <aside
        ref={aside}
        aria-label={t('Task')}
        style={{ '--inspector': `${clampWidth(inspector)}px` } as React.CSSProperties}
        className="w-full shrink-0 overflow-y-auto rounded-lg border border-line bg-panel lg:h-[max(26rem,calc(100vh-16.5rem))] lg:w-[var(--inspector)]"
      >
        <Head run={run} model={model} taskId={taskId} onClose={() => onSelect(undefined)} />
        <Body run={run} model={model} graph={graph} taskId={taskId} />
      </aside>
    </>
  )
}

function Head({ run, model, taskId, onClose }: { run: Run; model: RunModel; taskId: string; onClose: () => void }) {
  const t = useT()
  const names = useNames()
  const progress = useProgress(run, model.tasks.size).get(taskId)
  const lite = model.tasks.get(taskId)
  return (
    <header className="border-b border-line p-3">
      <div className="flex items-center gap-2">
        <h2 className="mr-auto min-w-0 truncate font-semibold">{lite ? nameOf(lite, names) : names.ofTask(taskId)}</h2>
        {lite && <Status state={lite.state} />}
        <IconButton icon="close" label={t('Close')} onClick={onClose} />
      </div>
      {lite && (
        <p className="text-xs text-soft">
          {lite.kind ? stateWord(t, lite.kind) : t('task')} · <Span from={lite.startedAt ?? lite.createdAt} to={lite.finishedAt} />
          {lite.attempts > 0 && <> · {t('attempt {n}', { n: lite.attempts })}</>}
        </p>
      )}
      {progress && (
        <div role="status" className="mt-1 text-sm text-run">
          {progress.percent !== null && <progress aria-label={t('Progress')} className="mr-2 h-2 align-middle accent-accent" max={100} value={progress.percent} />}
          {progressText(progress)}
        </div>
      )}
      <WhyTask run={run} taskId={taskId} state={lite?.state ?? ''} error={lite?.error} />
      {lite && <TaskActions run={run} taskId={taskId} state={lite.state} />}
      {lite?.state === 'running' && (
        <div className="mt-2">
          <ApproveButton run={run} tasks={[lite]} />
        </div>
      )}
    </header>
  )
}

function Body({ run, model, graph, taskId }: Omit<Props, 'onSelect'>) {
  const t = useT()
  const search = route.useSearch()
  const navigate = route.useNavigate()
  const queries = useQueryClient()
  const lite = model.tasks.get(taskId)
  const task = useQuery(taskQuery(run.id, taskId))
  // A log grows while its task runs, and the stream does not tell of it.
  const reading = ['activity', undefined].includes(search.tab) && lite?.state === 'running'
  const attempts = useQuery({ ...attemptsQuery(run.id, taskId), refetchInterval: reading ? LOG_MS : false })
  // Payloads are not in the stream: read them again when the task has moved.
  const mark = `${lite?.state} ${lite?.attempts} ${lite?.generation}`
  useEffect(() => {
    for (const key of ['task', 'attempts']) void queries.invalidateQueries({ queryKey: [key, run.id, taskId] })
    void queries.invalidateQueries({ queryKey: ['checkpoints', 'run', run.id] })
  }, [mark, queries, run.id, taskId])
  const asks = task.data?.kind === 'approval'
  const asked = useQuery({ ...runCheckpointsQuery(run.id), enabled: asks })
  const points = asked.data?.items.filter((one) => one.taskId === taskId) ?? []
  // The server's order is that of ids, where #10 comes before #2.
  const rows = useMemo(() => [...(attempts.data?.items ?? [])].sort((a, b) => a.number - b.number), [attempts.data])
  const tabs = TABS.filter((one) => (one !== 'checkpoint' || asks) && (one !== 'claims' || wasVerified(rows)))
  const tab: Tab = tabs.find((one) => one === search.tab) ?? 'activity'
  const go = (next: Tab) => void navigate({ search: (old) => ({ ...old, tab: next }), replace: true })
  useKeys(Object.fromEntries(tabs.map((one, at) => [String(at + 1), () => go(one)])))
  const names: Record<Tab, string> = {
    ...{ activity: t('Activity'), attempts: t('Attempts'), claims: t('Claims'), checkpoint: t('Checkpoint'), io: t('Input / output') },
    ...{ logs: t('Logs'), raw: '{ }' },
  }
  return (
    <>
      <div className="border-b border-line p-2">
        <Choices label={t('Task')} value={tab} choices={tabs.map((id) => ({ id, text: names[id] }))} onChange={go} />
      </div>
      <div className="p-3">
        {task.error && !task.data && <Failed error={task.error} retry={() => void task.refetch()} />}
        {!task.data && !task.error && <Skeleton rows={3} />}
        {task.data && <TabBody tab={tab} task={task.data} rows={rows} points={points} graph={graph} runId={run.id} seq={model.seq} />}
      </div>
    </>
  )
}

interface TabProps {
  tab: Tab
  task: Task
  rows: readonly Attempt[]
  points: readonly Checkpoint[]
  graph: FlowGraph
  runId: string
  seq: number
}

function TabBody({ tab, task, rows, points, graph, runId, seq }: TabProps) {
  const t = useT()
  switch (tab) {
    case 'activity':
      return (
        <>
          <Activity runId={runId} task={task} attempts={rows} seq={seq} />
          {points.filter((one) => one.state === 'open').map((one) => (
            <Decision key={one.id} item={one} onDone={() => undefined} />
          ))}
        </>
      )
    case 'attempts':
      return <Attempts task={task} attempts={rows} />
    case 'claims':
      return <Claims attempts={rows} />
    case 'checkpoint':
      return points.map((one) => <Decision key={one.id} item={one} onDone={() => undefined} />)
    case 'io': {
      const node = graph.nodes.find((one) => one.path === task.node)?.source
      return (
        <div className="flex flex-col gap-3">
          {node && <Ports task={task} node={node} />}
          <Json value={task.input} name={t('Input')} />
          <Json value={task.output} name={t('Output')} />
        </div>
      )
    }
    case 'logs':
      return (
        <div className="-m-3 flex h-[max(20rem,calc(100vh-24rem))] flex-col">
          <LogsView runId={runId} task={task.id} seq={seq} running={task.state === 'running'} />
        </div>
      )
    case 'raw':
      return <Json value={{ task, attempts: rows }} name="task" />
  }
}
