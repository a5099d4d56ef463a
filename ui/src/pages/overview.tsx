/** Is it healthy, and what needs me? */
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'

import { retryRun, useAct } from '@/api/actions'
import { inboxQuery, runsQuery, statsQuery, workersQuery } from '@/api/queries'
import { failureOf, type Stats } from '@/api/types'
import { asWritten, plainNode } from '@/graph/names'
import { useT } from '@/i18n'
import { Button, BUTTON, Choices, PageHead, Panel, Skeleton } from '@/parts/basics'
import { Ago } from '@/parts/clock'
import { Failed } from '@/parts/feedback'
import { Status, StatusIcon } from '@/parts/status'
import { Table } from '@/parts/table'
import { useTitle } from '@/parts/title'
import { useCanAct, useMayAct } from '@/shell/health'
import { formatSpan } from '@/time/format'

import { Durations } from './durations'
import { FirstSteps } from './first-steps'
import { LastRuns, Outcomes } from './outcomes'

const route = getRouteApi('/')
const WINDOWS = ['1h', '24h', '7d'] as const

export function OverviewPage() {
  const t = useT()
  useTitle(t('Overview'))
  const { window = '24h' } = route.useSearch()
  const navigate = route.useNavigate()
  const stats = useQuery(statsQuery(window))
  const choices = WINDOWS.map((id) => ({ id, text: id }))
  const any = Object.values(stats.data?.runs ?? {}).some((n) => n > 0)
  return (
    <>
      <PageHead title={t('Overview')}>
        <Choices
          label={t('Window')}
          value={window as (typeof WINDOWS)[number]}
          choices={choices}
          onChange={(value) => void navigate({ search: { window: value } })}
        />
      </PageHead>
      {stats.error && !stats.data && <Failed error={stats.error} retry={() => void stats.refetch()} />}
      {stats.isPending && !stats.error && <Skeleton />}
      {stats.data && (
        <>
          <Cards stats={stats.data} window={window} />
          {any ? (
            <div className="grid gap-x-4 xl:grid-cols-[minmax(0,3fr)_minmax(0,2fr)]">
              <div className="min-w-0">
                <Attention />
                <FlowTable stats={stats.data} />
              </div>
              <div className="min-w-0">
                <Panel title={t('Runs by outcome')}>
                  <Outcomes stats={stats.data} />
                </Panel>
                <Durations window={window} />
                <Queues stats={stats.data} />
              </div>
            </div>
          ) : (
            <FirstSteps stats={stats.data} />
          )}
        </>
      )}
    </>
  )
}

function Cards({ stats, window }: { stats: Stats; window: string }) {
  const t = useT()
  const runs = stats.runs
  const online = stats.workers.online ?? 0
  const workers = Object.values(stats.workers).reduce((a, b) => a + b, 0)
  const failed = stats.buckets.reduce((sum, bucket) => sum + bucket.failed, 0)
  const cards = [
    { name: t('Running'), value: runs.running ?? 0, to: '/runs', q: 'status:running', tone: 'text-run' },
    { name: t('Queued tasks'), value: stats.queues.reduce((n, q) => n + q.tasks, 0), to: '/runs', q: 'status:running,queued' },
    { name: t('Waiting for people'), value: stats.inbox, to: '/inbox', tone: stats.inbox ? 'text-wait' : '' },
    { name: t('Failed in {window}', { window }), value: failed, to: '/runs', q: `status:failed started:>-${window}`, tone: failed ? 'text-bad' : '' },
    { name: t('p95 of a run'), value: stats.p95Ms == null ? '–' : formatSpan(stats.p95Ms), to: '/runs', q: `started:>-${window}` },
    { name: t('Workers online'), value: `${online}/${workers}`, to: '/workers', tone: online < workers ? 'text-wait' : '' },
  ] as const
  return (
    <ul className="mb-4 grid grid-cols-2 gap-3 sm:grid-cols-3 xl:grid-cols-6">
      {cards.map((card) => (
        <li key={card.name}>
          <Link
            to={card.to}
            search={'q' in card ? { q: card.q } : {}}
            className="block rounded-lg border border-line bg-panel px-3 py-2.5 transition-colors hover:border-edge"
          >
            <span className="block text-xs text-soft">{card.name}</span>
            <span className={`text-2xl font-semibold tabular-nums ${'tone' in card ? card.tone : ''}`}>{card.value}</span>
          </Link>
        </li>
      ))}
    </ul>
  )
}

function Attention() {
  const t = useT()
  const act = useAct()
  const canAct = useCanAct()
  const mayAct = useMayAct()
  const failed = useInfiniteQuery(runsQuery('status:failed started:>-7d'))
  const inbox = useQuery(inboxQuery('open'))
  const workers = useQuery(workersQuery)
  const late = workers.data?.items.filter((worker) => worker.state === 'late') ?? []
  const runs = failed.data?.pages[0]?.items.slice(0, 6) ?? []
  const open = inbox.data?.items.slice(0, 5) ?? []
  const row = 'flex min-h-9 items-center gap-2.5 border-t border-line px-3 py-1 text-sm first:border-0'
  return (
    <Panel title={t('Needs attention')}>
      {late.length + runs.length + open.length === 0 && <p className="flex items-center gap-2 p-3 text-soft"><StatusIcon state="succeeded" /> {t('Nothing needs you.')}</p>}
      <ul>
        {late.map((worker) => (
          <li key={worker.id} className={row}>
            <Status state="late" />
            <span className="min-w-0 flex-1 truncate">
              {worker.id} · {t('last seen')} <Ago at={worker.seenAt} />
            </span>
          </li>
        ))}
        {open.map((item) => (
          <li key={item.id} className={row}>
            <Status state="waiting" />
            <span className="min-w-0 flex-1 truncate">
              {item.flow}: {item.prompt || asWritten(item.node)} · <Ago at={item.createdAt} />
            </span>
            <Link to="/inbox" search={{ id: item.id }} className={`${BUTTON} border-line hover:bg-sunk`}>
              {t('Open')}
            </Link>
          </li>
        ))}
        {runs.map((run) => (
          <li key={run.id} className={row}>
            <Status state="failed" />
            <span className="min-w-0 flex-1 truncate">
              <Link to="/runs/$id" params={{ id: run.id }} className="font-medium underline decoration-line underline-offset-2 hover:text-accent">
                {run.goal || run.flow}
              </Link>{' '}
              {plainNode(failureOf(run.error)?.node) && `${plainNode(failureOf(run.error)?.node)}: `}
              {failureOf(run.error)?.message}
            </span>
            <span className="text-soft">
              <Ago at={run.updatedAt} />
            </span>
            {mayAct && (
              <Button icon="retry" disabled={!canAct} onClick={() => void act(retryRun(run.id), t('Retry started'), 'runs', 'stats')}>
                {t('Retry')}
              </Button>
            )}
          </li>
        ))}
      </ul>
    </Panel>
  )
}

function Queues({ stats }: { stats: Stats }) {
  const t = useT()
  if (stats.queues.length === 0) return null
  return (
    <Panel title={t('Queues')}>
      <Table
        label={t('Queues')}
        rows={stats.queues}
        keyOf={(queue) => queue.queue}
        columns={[
          { head: t('Queue'), grows: true, cell: (queue) => queue.queue },
          { head: t('Tasks'), number: true, cell: (queue) => queue.tasks },
          { head: t('Oldest'), number: true, cell: (queue) => formatSpan(queue.oldestMs) },
        ]}
      />
    </Panel>
  )
}

function FlowTable({ stats }: { stats: Stats }) {
  const t = useT()
  return (
    <Panel title={t('Flows')}>
      <Table
        label={t('Flows')}
        rows={stats.flows.slice(0, 12)}
        keyOf={(flow) => flow.flow}
        columns={[
          {
            head: t('Flow'),
            grows: true,
            cell: (flow) => (
              <Link to="/flows/$name" params={{ name: flow.flow }} className="font-medium hover:text-accent hover:underline">
                {flow.flow}
              </Link>
            ),
          },
          { head: t('Runs'), number: true, cell: (flow) => flow.runs },
          { head: t('succeeded'), wide: true, number: true, cell: (flow) => flow.succeeded },
          { head: t('failed'), number: true, cell: (flow) => <span className={flow.failed ? 'font-semibold text-bad' : 'text-soft'}>{flow.failed}</span> },
          { head: 'p95', wide: true, number: true, cell: (flow) => (flow.p95Ms == null ? '–' : formatSpan(flow.p95Ms)) },
          { head: t('Newest runs'), wide: true, cell: (flow) => <LastRuns runs={flow.last as [string, string][]} /> },
        ]}
      />
    </Panel>
  )
}
