/** Attempts that are pods, those of the newest runs first. */
import { infiniteQueryOptions, keepPreviousData, queryOptions } from '@tanstack/react-query'

import { call } from './client'
import { hasEnded, type PodDetail, type PodPage } from './types'

export interface PodsWanted {
  q?: string
  namespace?: string
  state?: string
}

export const podsQuery = (wanted: PodsWanted) =>
  infiniteQueryOptions({
    queryKey: ['pods', wanted.q ?? '', wanted.namespace ?? '', wanted.state ?? ''],
    queryFn: ({ pageParam, signal }) => call<PodPage>('pods', { query: { ...wanted, cursor: pageParam, limit: 100 }, signal }),
    initialPageParam: '',
    getNextPageParam: (page) => page.next ?? undefined,
    placeholderData: keepPreviousData,
    // What pods wait for and how far they are changes without an event that a stream could tell of.
    refetchInterval: 3000,
  })

/** One pod by its attempt, with what happened to it. */
export const podQuery = (attempt: string) =>
  queryOptions({
    queryKey: ['pod', attempt],
    queryFn: ({ signal }) => call<PodDetail>(`pods/${encodeURIComponent(attempt)}`, { signal }),
    refetchInterval: ({ state }) => (state.data && hasEnded(state.data.pod.state) ? false : 3000),
  })
