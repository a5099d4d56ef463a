/** The queries of the pages, keyed so that live news can find what they change. */
import { infiniteQueryOptions, keepPreviousData, queryOptions } from '@tanstack/react-query'

import { ApiError, call } from './client'
import type {
  Attempt,
  Bulk,
  BulkJob,
  Checkpoint,
  Flow,
  Info,
  LogPage,
  Outline,
  Package,
  PackageDetail,
  Page,
  Revision, Run,
  RunEvent,
  SavedView,
  Stats,
  Task,
  Token,
  Version,
  Why,
  Worker,
} from './types'

const enc = encodeURIComponent

export const infoQuery = queryOptions({
  queryKey: ['info'],
  queryFn: ({ signal }) => call<Info>('info', { signal }),
  staleTime: Infinity,
})

export const statsQuery = (window: string) =>
  queryOptions({
    queryKey: ['stats', window],
    queryFn: ({ signal }) => call<Stats>('stats', { query: { window }, signal }),
    placeholderData: keepPreviousData,
    refetchInterval: 15_000,
  })

export const runsQuery = (q: string) =>
  infiniteQueryOptions({
    queryKey: ['runs', q],
    queryFn: ({ pageParam, signal }) =>
      call<Page<Run>>('runs', { query: { q, cursor: pageParam, limit: 100 }, signal }),
    initialPageParam: '',
    getNextPageParam: (page) => (page.next ? String(page.next) : undefined),
    placeholderData: keepPreviousData,
  })

export const matchedQuery = (q: string) =>
  queryOptions({
    queryKey: ['matched', q],
    queryFn: () => call<Bulk>('runs/bulk', { body: { action: 'cancel', q, dryRun: true } }),
    retry: false,
  })

/** Views of the list of runs: one's own, and those that others share. */
export const viewsQuery = queryOptions({
  queryKey: ['views'],
  queryFn: ({ signal }) => call<{ items: SavedView[] }>('views', { query: { page: 'runs' }, signal }),
  staleTime: 30_000,
})

/** Bulk jobs that are still at work, whoever started them and in whichever browser. */
export const bulkJobsQuery = queryOptions({
  queryKey: ['bulk'],
  queryFn: ({ signal }) => call<{ items: BulkJob[] }>('bulk', { query: { state: 'working' }, signal }),
  refetchInterval: (query) => (query.state.data?.items.length ? 1000 : 15_000),
})

export const bulkJobQuery = (id: string) =>
  queryOptions({
    queryKey: ['bulk', id],
    queryFn: ({ signal }) => call<BulkJob>(`bulk/${enc(id)}`, { signal }),
    refetchInterval: (query) => (query.state.data && query.state.data.state !== 'working' ? false : 500),
  })

export const runQuery = (id: string) =>
  queryOptions({ queryKey: ['run', id], queryFn: ({ signal }) => call<Run>(`runs/${enc(id)}`, { signal }) })

export const outlineQuery = (id: string) =>
  queryOptions({
    queryKey: ['outline', id],
    queryFn: ({ signal }) => call<Outline>(`runs/${enc(id)}/outline`, { signal }),
    staleTime: Infinity,
    gcTime: 0,
  })

export const whyQuery = (id: string) =>
  queryOptions({
    queryKey: ['why', id],
    queryFn: ({ signal }) => call<Why>(`runs/${enc(id)}/why`, { signal }),
  })

/** Tasks of a run that have ended, for the way it came. */
export const endedTasksQuery = (run: string) =>
  queryOptions({
    queryKey: ['ended-tasks', run],
    queryFn: ({ signal }) => call<Page<Task>>(`runs/${enc(run)}/tasks`, { query: { state: 'succeeded,failed,skipped', limit: 200 }, signal }),
  })

export const taskQuery = (run: string, task: string) =>
  queryOptions({
    queryKey: ['task', run, task],
    queryFn: ({ signal }) => call<Task>(`runs/${enc(run)}/tasks/${enc(task)}`, { signal }),
  })

/** The signals a run waits for, each once. */
export const awaitedQuery = (run: string) =>
  queryOptions({
    queryKey: ['awaited', run],
    queryFn: async ({ signal }) => {
      const page = await call<Page<Task>>(`runs/${enc(run)}/tasks`, { query: { state: 'waiting', limit: 200 }, signal })
      return [...new Set(page.items.flatMap((task) => (task.kind === 'wait' && task.waitKey ? [task.waitKey] : [])))]
    },
  })

export const attemptsQuery = (run: string, task: string) =>
  queryOptions({
    queryKey: ['attempts', run, task],
    queryFn: ({ signal }) =>
      call<Page<Attempt>>(`runs/${enc(run)}/attempts`, { query: { task, limit: 200 }, signal }),
  })

export const eventsPage = (run: string, after: number, limit: number) =>
  call<Page<RunEvent>>(`runs/${enc(run)}/events`, { query: { after, limit } })

export const logsPage = (run: string, query: Record<string, string | number | undefined>, signal?: AbortSignal) =>
  call<LogPage>(`runs/${enc(run)}/logs`, { query, signal })

/** What a run was started with: below the run, for those who read runs and no flows. */
export const definitionQuery = (run: string) =>
  queryOptions({
    queryKey: ['definition', run],
    queryFn: ({ signal }) => call<unknown>(`runs/${enc(run)}/definition`, { signal }),
    staleTime: Infinity,
  })

/** How a run's graph has grown; asked for anew with each revision. */
export const revisionsQuery = (run: string, revision: number) =>
  queryOptions({
    queryKey: ['revisions', run, revision],
    queryFn: ({ signal }) => call<Page<Revision>>(`runs/${enc(run)}/revisions`, { query: { limit: 500 }, signal }),
    staleTime: Infinity,
    placeholderData: keepPreviousData,
    enabled: revision > 0,
  })

export const flowsQuery = (q: string) =>
  queryOptions({
    queryKey: ['flows', q],
    queryFn: ({ signal }) => call<Page<Flow>>('flows', { query: { q, limit: 500 }, signal }),
    placeholderData: keepPreviousData,
  })

export const versionsQuery = (flow: string) =>
  queryOptions({
    queryKey: ['versions', flow],
    queryFn: ({ signal }) =>
      call<Page<Version>>(`flows/${enc(flow)}/versions`, { query: { limit: 200 }, signal }),
  })

export const versionQuery = (flow: string, version: number) =>
  queryOptions({
    queryKey: ['version', flow, version],
    queryFn: ({ signal }) => call<Version>(`flows/${enc(flow)}/versions/${version}`, { signal }),
    staleTime: Infinity,
    enabled: version > 0,
  })

export const inboxQuery = (state: string) =>
  queryOptions({
    queryKey: ['checkpoints', state],
    queryFn: ({ signal }) =>
      call<Page<Checkpoint>>('checkpoints', { query: { state, limit: 200 }, signal }),
    placeholderData: keepPreviousData,
  })

export const runCheckpointsQuery = (run: string) =>
  queryOptions({
    queryKey: ['checkpoints', 'run', run],
    queryFn: ({ signal }) => call<Page<Checkpoint>>('checkpoints', { query: { run, limit: 200 }, signal }),
  })

export const checkpointQuery = (id: string) =>
  queryOptions({
    queryKey: ['checkpoint', id],
    queryFn: ({ signal }) => call<Checkpoint>(`checkpoints/${enc(id)}`, { signal }),
  })

export const workersQuery = queryOptions({
  queryKey: ['workers'],
  queryFn: ({ signal }) => call<Page<Worker>>('workers', { query: { limit: 500 }, signal }),
  refetchInterval: 15_000,
})

export const tokensQuery = queryOptions({
  queryKey: ['tokens'],
  queryFn: ({ signal }) => call<Page<Token>>('tokens', { signal }),
  retry: false,
})

export const packagesQuery = (q: string) =>
  queryOptions({
    queryKey: ['packages', q],
    queryFn: ({ signal }) => call<Page<Package>>('packages', { query: { q, limit: 500 }, signal }),
    placeholderData: keepPreviousData,
  })

export const packageQuery = (name: string, version: string) =>
  queryOptions({
    queryKey: ['package', name, version],
    queryFn: ({ signal }) => call<PackageDetail>(`packages/${enc(name)}`, { query: { version }, signal }),
    placeholderData: keepPreviousData,
  })

/** Whether the caller may act at all: a count that changes nothing needs the same role as actions do. */
export const mayActQuery = queryOptions({
  queryKey: ['may-act'],
  queryFn: async () => {
    try {
      await call('runs/bulk', { body: { action: 'cancel', q: 'status:cancelling', dryRun: true } })
      return true
    } catch (error) {
      return !(error instanceof ApiError && error.status === 403)
    }
  },
  staleTime: Infinity,
  retry: false,
})
