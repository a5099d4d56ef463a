/** Find runs and act on many of them. */
import { useInfiniteQuery, useQuery, useQueryClient } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useMemo, useState } from 'react'

import { matchedQuery, runsQuery } from '@/api/queries'
import { parseFilter } from '@/filter/grammar'
import { useT } from '@/i18n'
import { withNews } from '@/live/rows'
import { useLatest } from '@/live/store'
import { Button, PageHead, Skeleton } from '@/parts/basics'
import { CopyAs } from '@/parts/copy'
import { Empty, Failed } from '@/parts/feedback'
import { useTitle } from '@/parts/title'

import { readColumns, sortRuns, USUAL } from '@/runs/columns'
import { ColumnsMenu } from '@/runs/columns-menu'
import { withRange } from '@/runs/histogram'
import { TimeBrush } from '@/runs/time-brush'

import { BulkBar } from './bulk'
import { BulkJobs } from './bulk-progress'
import { ExportButton } from './export'
import { FilterBar } from './filter-bar'
import { useFresh } from './fresh'
import { RunList } from './run-list'
import { NewRunButton } from './start'
import { type Shown, Views } from './views'

const route = getRouteApi('/runs')

export function RunsPage() {
  const t = useT()
  useTitle(t('Runs'))
  const { q = '', columns: named = '', sort = '', job } = route.useSearch()
  const navigate = route.useNavigate()
  const queries = useQueryClient()
  const show = ({ q, columns, sort }: Shown) => void navigate({ search: (old) => ({ ...old, q: q || undefined, columns: columns.join() || undefined, sort: sort || undefined }) })
  const names = useMemo(() => named.split(',').filter(Boolean), [named])
  const columns = useMemo(() => readColumns(names), [names])
  const setQ = (text: string) => show({ q: text, columns: names, sort })
  const problem = parseFilter(q, t).problem
  const pages = useInfiniteQuery({ ...runsQuery(q), enabled: !problem })
  const matched = useQuery({ ...matchedQuery(q), enabled: !problem && q.trim() !== '' })
  const latest = useLatest()
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set())
  const read = useMemo(() => pages.data?.pages.flatMap((page) => page.items) ?? [], [pages.data])
  const newest = useMemo(() => read.map((run) => withNews(run, latest)), [read, latest])
  const runs = useMemo(() => sortRuns(newest, sort, Date.now()), [newest, sort])
  const fresh = useFresh(q, latest, pages.data ? (read[0]?.id ?? '') : null)
  const loadNew = () => {
    void queries.resetQueries({ queryKey: ['runs', q] })
    void queries.invalidateQueries({ queryKey: ['matched', q] })
  }
  return (
    <div className="flex h-[calc(100vh-8rem)] flex-col md:h-[calc(100vh-6rem)]">
      <PageHead title={t('Runs')}>
        <CopyAs cli={`windlass run ls -q '${q}'`} path={`runs?q=${encodeURIComponent(q)}`} />
        <ColumnsMenu columns={columns} onChange={(next) => show({ q, columns: next.join() === USUAL.join() ? [] : next, sort })} />
        <ExportButton q={q} disabled={runs.length === 0} />
        <NewRunButton />
      </PageHead>
      <Views shown={{ q, columns: names, sort }} onChoose={show} />
      <FilterBar key={q} q={q} problem={problem} onChange={setQ} />
      <TimeBrush runs={newest} onRange={(from, to) => setQ(withRange(q, from, to))} />
      <BulkJobs open={job} onOpen={(id) => void navigate({ search: (old) => ({ ...old, job: id }), replace: true })} />
      <div className="flex min-h-9 flex-wrap items-center gap-2 py-1 text-sm text-soft">
        <span role="status">
          {q.trim() && matched.data
            ? t('{n} match', { n: matched.data.matched })
            : t('{n} shown', { n: runs.length + (pages.hasNextPage ? '+' : '') })}
        </span>
        {fresh > 0 && (
          <Button icon="upload" onClick={loadNew}>
            {t('{n} new', { n: fresh })}
          </Button>
        )}
        <BulkBar q={q} matched={matched.data?.matched ?? 0} runs={runs} chosen={chosen} onDone={() => setChosen(new Set())} onStarted={(id) => void navigate({ search: (old) => ({ ...old, job: id }), replace: true })} />
      </div>
      {pages.error && <Failed error={pages.error} retry={() => void pages.refetch()} />}
      {pages.isPending && !pages.error && !problem && <Skeleton rows={8} />}
      {pages.data && runs.length === 0 && (q ? <NoMatch q={q} onClear={() => setQ('')} /> : <NoRuns />)}
      {runs.length > 0 && (
        <RunList
          runs={runs}
          chosen={chosen}
          onChoose={setChosen}
          columns={columns}
          sort={sort}
          onSort={(next) => show({ q, columns: names, sort: next })}
          more={pages.hasNextPage && !pages.isFetchingNextPage ? () => void pages.fetchNextPage() : undefined}
        />
      )}
    </div>
  )
}

function NoMatch({ q, onClear }: { q: string; onClear: () => void }) {
  const t = useT()
  return (
    <Empty title={t('No run matches {q}', { q })}>
      <Button onClick={onClear}>{t('Clear the filter')}</Button>
    </Empty>
  )
}

function NoRuns() {
  const t = useT()
  return <Empty title={t('No runs yet. Start one:')} command="windlass run start hello --watch" />
}
