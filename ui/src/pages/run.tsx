/** One run: what it is, why it stands there, and what can be done about it. */
import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { lazy, Suspense, useEffect, useMemo } from 'react'

import { isUnknown } from '@/api/client'
import { anyActionQuery, useReadAgain } from '@/api/ledger'
import { definitionQuery, outlineQuery, revisionsQuery, runQuery } from '@/api/queries'
import { failureOf, hasEnded, isWorkflowRun, outcomeOf, type Run } from '@/api/types'
import { graphOf } from '@/graph/definition'
import { grown } from '@/graph/grown'
import { Names } from '@/graph/names'
import { withPlaces } from '@/graph/workflow'
import { stateWord, useT } from '@/i18n'
import type { RunModel } from '@/live/model'
import { withNews } from '@/live/rows'
import { live, useLatest, useRunModel } from '@/live/store'
import { Chip, Choices, Skeleton } from '@/parts/basics'
import { Time } from '@/parts/clock'
import { Failed } from '@/parts/feedback'
import { Icon, type IconName } from '@/parts/icons'
import { Json } from '@/parts/json'
import { lookOf, Status, StatusIcon } from '@/parts/status'
import { useTitle } from '@/parts/title'
import { PlanRail } from '@/plan/rail'
import { RunActions } from '@/run/actions'
import { Banner } from '@/run/banner'
import { EventsView } from '@/run/events'
import { Inspector } from '@/run/inspector'
import { ListView } from '@/run/list'
import { LogsView } from '@/run/logs'
import { NamesContext } from '@/run/names'
import { countStates, nextError } from '@/run/tree'
import { useCrumb } from '@/shell/crumb'
import { useKeys } from '@/shell/keys'
import { soon } from '@/shell/later'
import { Lost } from '@/shell/lost'

const Dag = lazy(() => import('@/run/dag').then((module) => ({ default: module.Dag })))
const Timeline = lazy(() => import('@/run/timeline').then((module) => ({ default: module.Timeline })))
const LedgerView = lazy(() => import('@/run/ledger').then((module) => ({ default: module.LedgerView })))
const BoardView = lazy(() => import('@/plan/board').then((module) => ({ default: module.BoardView })))
soon(() => import('@/run/dag'))
soon(() => import('@/run/timeline'))
soon(() => import('@/run/ledger'))
soon(() => import('@/plan/board'))

const route = getRouteApi('/runs/$id')
const VIEWS = ['dag', 'flow', 'list', 'events', 'logs', 'actions', 'board', 'data'] as const
type View = (typeof VIEWS)[number]
const ICONS: Record<View, IconName> = {
  dag: 'graph',
  flow: 'clock',
  list: 'list',
  events: 'events',
  logs: 'logs',
  actions: 'call',
  board: 'plan',
  data: 'data',
}

export function RunPage() {
  const t = useT()
  const { id } = route.useParams()
  const read = useQuery(runQuery(id))
  const latest = useLatest()
  if (isUnknown(read.error)) return <Lost title={t('No run is called {name}', { name: id })} to="/runs" way={t('All runs')} />
  if (read.error && !read.data) return <Failed error={read.error} retry={() => void read.refetch()} />
  if (!read.data) return <Skeleton rows={6} />
  return <Loaded run={withNews(read.data, latest)} />
}

function Loaded({ run }: { run: Run }) {
  const t = useT()
  const search = route.useSearch()
  const navigate = route.useNavigate()
  const model = useModel(run.id)
  const definition = useQuery(definitionQuery(run.id))
  const { data: outline } = useQuery({ ...outlineQuery(run.id), enabled: false })
  const { data: revisions } = useQuery(revisionsQuery(run.id, run.revision))
  const shownRevision = search.rev ?? run.revision
  const graph = useMemo(() => {
    const made = (revisions?.items ?? []).filter((one) => one.revision <= shownRevision)
    return grown(withPlaces(graphOf(definition.data), outline?.places ?? []), made, run.dialect)
  }, [definition.data, outline?.places, revisions?.items, run.dialect, shownRevision])
  const names = useMemo(() => new Names(graph, run.dialect === 'plan'), [graph, run.dialect])
  const narrow = innerWidth < 768
  const views = useViews(run, model?.seq ?? 0)
  const view = (VIEWS.find((one) => one === search.view) ?? (narrow ? 'list' : 'dag')) as View
  const failure = failureOf(run.error)
  const look = lookOf(outcomeOf(run))
  useTitle(`${look.sign} ${failure?.node ? `${names.of(failure.node)} · ` : ''}${run.goal || run.flow} ${run.id.slice(0, 8)}`)
  useCrumb(`${run.goal || run.flow} · ${run.id.slice(-6)}`)
  const select = (task: string | undefined) => void navigate({ search: (old) => ({ ...old, task }), replace: true })
  useKeys({
    '.': () => model && select(nextError(model, search.task)),
    Escape: () => select(undefined),
  })
  const go = (next: View) => void navigate({ search: (old) => ({ ...old, view: next }) })
  const words: Record<View, string> = {
    dag: t('Graph'),
    flow: t('Timeline'),
    list: t('List'),
    events: t('Events'),
    logs: t('Logs'),
    actions: t('Actions'),
    board: t('Blackboard'),
    data: t('Data'),
  }
  const choices = views.map((one) => ({
    id: one,
    text: (
      <>
        <Icon name={ICONS[one]} size={14} />
        {words[one]}
      </>
    ),
  }))
  return (
    <NamesContext value={names}>
      <div className="flex flex-col">
        <Head run={run} />
        <Banner run={run} />
        <div className="mb-2 flex flex-wrap items-center gap-2">
          <Choices label={t('View')} value={view} choices={choices} onChange={go} />
          {model && <Counts model={model} onError={() => select(nextError(model, search.task))} />}
        </div>
        <div className="flex min-h-0 flex-1 flex-col gap-3 lg:flex-row">
          <div
            className={`relative flex min-w-0 flex-col overflow-hidden rounded-lg border border-line bg-panel lg:flex-1 ${
              view === 'flow' ? 'max-h-[max(26rem,calc(100vh-16.5rem))] self-start max-lg:w-full' : 'h-[max(26rem,calc(100vh-16.5rem))]'
            }`}
          >
            <Suspense fallback={<Skeleton rows={6} />}>
              {!model ? (
                <Skeleton rows={8} />
              ) : view === 'dag' ? (
                <div className="flex min-h-0 flex-1 flex-col md:flex-row">
                  {revisions && run.revision > 0 && (
                    <PlanRail
                      run={run}
                      revisions={revisions.items}
                      shown={shownRevision}
                      aside={search.task !== undefined}
                      onShow={(rev) => void navigate({ search: (old) => ({ ...old, rev }), replace: true })}
                    />
                  )}
                  <Dag graph={graph} model={model} run={run} selected={search.task} onSelect={select} />
                </div>
              ) : view === 'flow' ? (
                <Timeline graph={graph} model={model} run={run} selected={search.task} onSelect={select} />
              ) : view === 'list' ? (
                <ListView model={model} find={search.find ?? ''} selected={search.task} onSelect={select} />
              ) : view === 'events' ? (
                <EventsView runId={run.id} seq={model.seq} onSelect={select} />
              ) : view === 'logs' ? (
                <LogsView runId={run.id} running={!hasEnded(run.state)} seq={model.seq} onSelect={select} />
              ) : view === 'actions' ? (
                <LedgerView run={run} model={model} onSelect={select} />
              ) : view === 'board' ? (
                <BoardView run={run} seq={model.seq} />
              ) : (
                <RunData run={run} />
              )}
            </Suspense>
          </div>
          {search.task && model && (
            <Inspector key={search.task} run={run} model={model} graph={graph} taskId={search.task} onSelect={select} />
          )}
        </div>
      </div>
    </NamesContext>
  )
}

/** The views that have something to show: most runs do nothing outside, and only plans have a blackboard. */
function useViews(run: Run, seq: number): readonly View[] {
  const plan = run.dialect === 'plan'
  const acted = useQuery({ ...anyActionQuery(run.id), enabled: !plan }).data ?? false
  useReadAgain(run.id, plan || acted ? 0 : seq, 'any-action')
  return VIEWS.filter((one) => (one === 'actions' ? plan || acted : one !== 'board' || plan))
}

/** The run's tasks, read once and then moved on by the stream. */
function useModel(id: string): RunModel | undefined {
  const outline = useQuery(outlineQuery(id))
  useEffect(() => {
    if (outline.data) live.open(outline.data)
  }, [outline.data])
  useEffect(() => () => live.close(id), [id])
  return useRunModel(id)
}

function Head({ run }: { run: Run }) {
  const t = useT()
  return (
    <header className="mb-3">
      <div className="flex flex-wrap items-center gap-x-2.5 gap-y-2">
        <h1 title={run.goal} className="min-w-0 truncate text-xl font-semibold tracking-tight">
          {run.goal || run.flow}
        </h1>
        <span title={run.id} className="font-mono text-sm text-soft">
          {run.id.slice(-6)}
        </span>
        <span data-run-state={run.state}>
          <Status state={outcomeOf(run)} />
        </span>
        <span className="flex-1" />
        <RunActions run={run} />
      </div>
      <p className="mt-1 flex flex-wrap items-center gap-x-2 text-sm text-soft">
        <Link to="/flows/$name" params={{ name: isWorkflowRun(run) ? run.flowId : run.flow }} search={{ version: run.version ?? undefined }} className="hover:text-text hover:underline">
          {run.flow}@{run.version}
        </Link>
        <span>
          · {t('started')} <Time at={run.createdAt} />
        </span>
        {run.finishedAt && (
          <span>
            · {t('ended')} <Time at={run.finishedAt} />
          </span>
        )}
        {run.generation > 0 && <span>· {run.generation === 1 ? t('reopened once') : t('reopened {n} times', { n: run.generation })}</span>}
        {run.revision > 0 && <span>· {t('graph revision {n}', { n: run.revision })}</span>}
        {Object.entries((run.tags ?? {}) as Record<string, string>)
          .filter(([key]) => key !== 'definitionHash')
          .map(([key, value]) => (
            <Chip key={key}>
              {key}={value}
            </Chip>
          ))}
      </p>
    </header>
  )
}

function Counts({ model, onError }: { model: RunModel; onError: () => void }) {
  const t = useT()
  const counts = useMemo(() => countStates(model), [model])
  return (
    <span className="ml-auto flex flex-wrap items-center gap-2 text-xs">
      {Object.entries(counts).map(([state, count]) =>
        state === 'failed' ? (
          <button key={state} type="button" title={t('Next error')} onClick={onError} className="inline-flex h-5 items-center gap-1 rounded bg-bad-soft px-1.5 font-medium text-bad">
            <StatusIcon state={state} size={12} /> {count} {stateWord(t, state)}
            <Icon name="forward" size={12} />
          </button>
        ) : (
          <span key={state} className={`inline-flex items-center gap-1 ${lookOf(state).text}`}>
            <StatusIcon state={state} size={12} /> {count} {stateWord(t, state)}
          </span>
        ),
      )}
    </span>
  )
}

function RunData({ run }: { run: Run }) {
  const t = useT()
  return (
    <div className="grid gap-3 overflow-auto p-3 xl:grid-cols-2">
      <Json value={run.params} name={t('Parameters')} />
      <Json value={run.shared} name={t('Shared state')} />
    </div>
  )
}
