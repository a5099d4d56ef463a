/** Attempts that are pods, those of the newest runs first. */
import { infiniteQueryOptions, keepPreviousData } from '@tanstack/react-query'

import { call } from './client'
import type { PodPage } from './types'

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
