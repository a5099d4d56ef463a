/** Is it healthy, and what needs me? */
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'

import { retryRun, useAct } from '@/api/actions'
import { inboxQuery, runsQuery, statsQuery, workersQuery } from '@/api/queries'
import { failureOf, type Stats } from '@/api/types'
import { plainNode } from '@/graph/names'
import { useT } from '@/i18n'
import { Button, Choices, PageHead, Panel, Skeleton } from '@/parts/basics'
import { Ago } from '@/parts/clock'
import { Failed } from '@/parts/feedback'
import { Status } from '@/parts/status'
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
            <div className="grid gap-4 xl:grid-cols-2">
              <div className="min-w-0">
                <Attention />
                <Queues stats={stats.data} />
              </div>
              <div className="min-w-0">
                <Panel title={t('Runs by outcome')}>
                  <Outcomes stats={stats.data} />
                </Panel>
                <Durations window={window} />
                <FlowTable stats={stats.data} />
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
    { name: t('Waits for people'), value: stats.inbox, to: '/inbox', tone: stats.inbox ? 'text-wait' : '' },
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
            className="block rounded-lg border border-line bg-panel p-3 hover:border-accent"
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
  const row = 'flex items-center gap-2 border-b border-line px-3 py-2 text-sm last:border-0'
  return (
    <Panel title={t('Needs attention')}>
      {late.length + runs.length + open.length === 0 && <p className="p-4 text-soft">✓ {t('Nothing needs you.')}</p>}
      <ul>
        {late.map((worker) => (
          <li key={worker.id} className={row}>
            <Status state="late" />
            <span className="min-w-0 flex-1 truncate">
              {worker.id} · {t('last heard of')} <Ago at={worker.seenAt} />
            </span>
          </li>
        ))}
        {open.map((item) => (
          <li key={item.id} className={row}>
            <Status state="waiting" />
            <span className="min-w-0 flex-1 truncate">
              {item.flow}: {item.prompt || item.node} · <Ago at={item.createdAt} />
            </span>
            <Link to="/inbox" search={{ id: item.id }} className="text-accent underline">
              {t('Open')}
            </Link>
          </li>
        ))}
        {runs.map((run) => (
          <li key={run.id} className={row}>
            <Status state="failed" />
            <span className="min-w-0 flex-1 truncate">
              <Link to="/runs/$id" params={{ id: run.id }} className="text-accent underline">
                {run.flow}
              </Link>{' '}
              {plainNode(failureOf(run.error)?.node) && `${failureOf(run.error)?.node}: `}
              {failureOf(run.error)?.message}
            </span>
            <Ago at={run.updatedAt} />
            {mayAct && (
              <Button disabled={!canAct} onClick={() => void act(retryRun(run.id), t('Retry started'), 'runs', 'stats')}>
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
      <table className="w-full text-sm">
        <thead className="text-left text-xs text-soft">
          <tr>
            <th className="px-3 py-1.5">{t('Queue')}</th>
            <th className="px-3">{t('Tasks')}</th>
            <th className="px-3">{t('Oldest')}</th>
          </tr>
        </thead>
        <tbody>
          {stats.queues.map((queue) => (
            <tr key={queue.queue} className="border-t border-line">
              <td className="px-3 py-1.5">{queue.queue}</td>
              <td className="px-3 tabular-nums">{queue.tasks}</td>
              <td className="px-3 tabular-nums">{formatSpan(queue.oldestMs)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Panel>
  )
}

function FlowTable({ stats }: { stats: Stats }) {
  const t = useT()
  return (
    <Panel title={t('Flows')}>
      <div className="overflow-x-auto">
        <table className="w-full text-sm">
          <thead className="text-left text-xs text-soft">
            <tr>
              {[t('Flow'), t('Runs'), t('succeeded'), t('failed'), 'p95', t('Newest runs')].map((head) => (
                <th key={head} className="px-3 py-1.5 font-medium whitespace-nowrap">
                  {head}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {stats.flows.slice(0, 12).map((flow) => (
              <tr key={flow.flow} className="border-t border-line">
                <td className="px-3 py-1.5 whitespace-nowrap">
                  <Link to="/flows/$name" params={{ name: flow.flow }} className="text-accent underline">
                    {flow.flow}
                  </Link>
                </td>
                <td className="px-3 tabular-nums">{flow.runs}</td>
                <td className="px-3 tabular-nums">{flow.succeeded}</td>
                <td className={`px-3 tabular-nums ${flow.failed ? 'font-semibold text-bad' : ''}`}>{flow.failed}</td>
                <td className="px-3 tabular-nums">{flow.p95Ms == null ? '–' : formatSpan(flow.p95Ms)}</td>
                <td className="px-3">
                  <LastRuns runs={flow.last as [string, string][]} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Panel>
  )
}
