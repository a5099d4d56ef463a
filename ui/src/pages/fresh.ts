/** How many runs began since a list was read and belong in it. */
import { useQuery } from '@tanstack/react-query'
import { useEffect, useRef } from 'react'

import { call } from '@/api/client'
import type { Page, Run } from '@/api/types'
import { type Latest, newSince } from '@/live/rows'

const AGAIN_MS = 1500
const SHOWN_MAX = 100

/**
 * The stream tells of every run; only the server knows which of them a filter matches. It is asked
 * when there is news of a newer run, and at most every so often.
 */
export function useFresh(q: string, latest: Latest, newest: string | null): number {
  const all = newest === null ? 0 : newSince(latest, newest)
  const ask = q.trim() !== '' && all > 0
  const { data, refetch } = useQuery({
    queryKey: ['fresh', q, newest],
    queryFn: async ({ signal }) => {
      const page = await call<Page<Run>>('runs', { query: { q, limit: SHOWN_MAX }, signal })
      return page.items.filter((run) => run.id > (newest ?? '')).length
    },
    enabled: ask,
  })
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  useEffect(() => {
    if (!ask || timer.current) return
    timer.current = setTimeout(() => {
      timer.current = undefined
      void refetch()
    }, AGAIN_MS)
  }, [ask, latest, refetch])
  useEffect(() => () => clearTimeout(timer.current), [])
  return q.trim() === '' ? all : ask ? (data ?? 0) : 0
}
