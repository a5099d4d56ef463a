/** One flow: its versions, what changed between them, its graph, its runs. */
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { lazy, Suspense, useMemo, useState } from 'react'

import { isUnknown } from '@/api/client'
import { runsQuery, versionQuery, versionsQuery } from '@/api/queries'
import type { Version } from '@/api/types'
import { RunGrid } from '@/flow/grid'
import { UploadDialog } from '@/flow/upload'
import { graphOf } from '@/graph/definition'
import { drawingOf } from '@/graph/drawing'
import { asWritten } from '@/graph/names'
import { useT } from '@/i18n'
import { withNews } from '@/live/rows'
import { useLatest } from '@/live/store'
import { Button, Choices, FIELD, PageHead, Panel, Skeleton } from '@/parts/basics'
import { Span, Time } from '@/parts/clock'
import { ValueDiff } from '@/parts/code'
import { Empty, Failed } from '@/parts/feedback'
import { Json } from '@/parts/json'
import { Status } from '@/parts/status'
import { useTitle } from '@/parts/title'
import { useCanAct, useMayAct } from '@/shell/health'
import { useCrumb } from '@/shell/crumb'
import { Lost } from '@/shell/lost'

import { NewRunButton, StartWorkflowButton } from './start'

const GraphView = lazy(() => import('@/graph/view').then((module) => ({ default: module.GraphView })))
const route = getRouteApi('/flows/$name')
const TABS = ['graph', 'grid', 'definition', 'diff', 'runs'] as const

export function FlowPage() {
  const t = useT()
  const { name } = route.useParams()
  const search = route.useSearch()
  const navigate = route.useNavigate()
  const canAct = useCanAct()
  const mayAct = useMayAct()
  const [upload, setUpload] = useState(false)
  const versions = useQuery(versionsQuery(name))
  const chosen = versions.data?.items.find((one) => one.version === search.version) ?? versions.data?.items[0]
  const read = useQuery(versionQuery(name, chosen?.version ?? 0))
  const title = versions.data?.items[0]?.flow ?? name
  useTitle(title)
  useCrumb(title)
  if (isUnknown(versions.error)) return <Lost title={t('No flow is called {name}', { name })} to="/flows" way={t('All flows')} />
  if (versions.error && !versions.data) return <Failed error={versions.error} retry={() => void versions.refetch()} />
  if (!versions.data) return <Skeleton rows={6} />
  const items = versions.data.items
  if (!chosen) return <Empty title={t('No version yet')} command={`windlass flow push FILE --name ${name}`} />
  const shown = read.data
  const tab = TABS.find((one) => one === search.tab) ?? 'graph'
  const names = { graph: t('Graph'), grid: t('Grid'), definition: t('Definition'), diff: t('Difference'), runs: t('Runs') }
  return (
    <div className="flex min-h-[calc(100vh-7rem)] flex-col">
      <PageHead
        title={title}
      >
        <select
          aria-label={t('Version')}
          className={`${FIELD} w-44`}
          value={chosen.version}
          onChange={(event) => void navigate({ search: (old) => ({ ...old, version: Number(event.target.value) }) })}
        >
          {items.map((one) => (
            <option key={one.version} value={one.version}>
              v{one.version} {one.status === 'published' ? '' : one.status}
            </option>
          ))}
        </select>
        {mayAct && (
          <Button icon="upload" disabled={!canAct || !shown} onClick={() => setUpload(true)}>
            {t('New version')}
          </Button>
        )}
        {chosen.dialect !== 'workflow' && <NewRunButton flow={name} version={chosen.version} />}
        {chosen.dialect === 'workflow' && shown && <StartWorkflowButton definition={shown.definition} />}
      </PageHead>
      <div className="mb-2 flex flex-wrap items-center gap-x-3 gap-y-1">
        <Choices
          label={t('View')}
          value={tab}
          choices={TABS.map((id) => ({ id, text: names[id] }))}
          onChange={(next) => void navigate({ search: (old) => ({ ...old, tab: next }) })}
        />
        <span className="text-xs text-soft">
          <Time at={chosen.createdAt} /> · {chosen.dialect}
        </span>
      </div>
      {tab !== 'runs' && !shown && (read.error ? <Failed error={read.error} retry={() => void read.refetch()} /> : <Skeleton rows={6} />)}
      {tab === 'graph' && shown && <FlowGraphView version={shown} />}
      {tab === 'grid' && shown && <FlowGrid flow={name} version={shown} />}
      {tab === 'definition' && shown && <Json value={shown.definition} name={`${name}@${shown.version}`} />}
      {tab === 'diff' && shown && <VersionDiff flow={name} items={items} shown={shown} against={search.against} />}
      {tab === 'runs' && <FlowRuns name={title} />}
      {upload && shown && <UploadDialog name={name} start={shown.definition} onClose={() => setUpload(false)} />}
    </div>
  )
}

function FlowGraphView({ version }: { version: Version }) {
  const drawing = useMemo(() => drawingOf(graphOf(version.definition), undefined, new Set()), [version])
  return (
    <div className="flex min-h-96 flex-1 overflow-hidden rounded-lg border border-line bg-panel">
      <Suspense fallback={<Skeleton />}>
        <GraphView key={version.versionId} drawing={drawing} />
      </Suspense>
    </div>
  )
}

function FlowGrid({ flow, version }: { flow: string; version: Version }) {
  const names = useMemo(() => new Map(graphOf(version.definition).nodes.map((node) => [node.path, node.name])), [version])
  return (
    <Panel>
      <RunGrid flow={flow} nameOf={(node) => names.get(node) ?? asWritten(node)} />
    </Panel>
  )
}

function VersionDiff({ flow, items, shown, against }: { flow: string; items: readonly Version[]; shown: Version; against?: number }) {
  const t = useT()
  const navigate = route.useNavigate()
  const other = items.find((one) => one.version === (against ?? shown.version - 1))
  const read = useQuery(versionQuery(flow, other?.version ?? 0))
  if (items.length < 2) return <Empty title={t('There is only one version.')} />
  return (
    <>
      <label className="mb-2 flex items-center gap-2 text-sm whitespace-nowrap">
        {t('Compared with')}
        <select
          className={`${FIELD} w-28`}
          value={other?.version ?? ''}
          onChange={(event) => void navigate({ search: (old) => ({ ...old, against: Number(event.target.value) }) })}
        >
          {!other && <option value="">–</option>}
          {items.map((one) => (
            <option key={one.version} value={one.version}>
              v{one.version}
            </option>
          ))}
        </select>
      </label>
      {other && !read.data && (read.error ? <Failed error={read.error} retry={() => void read.refetch()} /> : <Skeleton rows={6} />)}
      {read.data && <ValueDiff before={read.data.definition} after={shown.definition} label={t('Difference')} />}
    </>
  )
}

function FlowRuns({ name }: { name: string }) {
  const t = useT()
  const runs = useInfiniteQuery(runsQuery(`flow:${/\s/.test(name) ? JSON.stringify(name) : name}`))
  const latest = useLatest()
  const items = runs.data?.pages[0]?.items.slice(0, 50) ?? []
  if (runs.data && items.length === 0) return <Empty title={t('No runs yet. Start one:')} command={`windlass run start ${name} --watch`} />
  return (
    <Panel>
      <ul>
        {items
          .map((run) => withNews(run, latest))
          .map((run) => (
            <li key={run.id} className="flex items-center gap-3 h-8 border-t border-line px-3 text-sm first:border-0">
              <span className="w-28">
                <Status state={run.state} />
              </span>
              <Link to="/runs/$id" params={{ id: run.id }} className="mr-auto font-mono text-accent hover:underline">
                {run.id.slice(-6)}
              </Link>
              <Time at={run.createdAt} />
              <Span from={run.createdAt} to={run.finishedAt} />
            </li>
          ))}
      </ul>
    </Panel>
  )
}
