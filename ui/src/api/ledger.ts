/** What attempts do outside, who allowed it, and what stands on a run's blackboard. */
import { infiniteQueryOptions, keepPreviousData, queryOptions, useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'

import { call } from './client'
import type { Action, Approval, ApprovalMade, BoardEntry, Page } from './types'

const enc = encodeURIComponent
const AGAIN_MS = 400

export const actionsQuery = (run: string, state: string) =>
  infiniteQueryOptions({
    queryKey: ['actions', run, state],
    queryFn: ({ pageParam, signal }) =>
      call<Page<Action>>(`runs/${enc(run)}/actions`, { query: { state, cursor: pageParam, limit: 200 }, signal }),
    initialPageParam: '',
    getNextPageParam: (page) => (page.next ? String(page.next) : undefined),
    placeholderData: keepPreviousData,
  })

/** What one task has done outside; read again when its run has moved. */
export const taskActionsQuery = (run: string, task: string, seq: number) =>
  queryOptions({
    queryKey: ['task-actions', run, task, seq],
    queryFn: ({ signal }) => call<Page<Action>>(`runs/${enc(run)}/actions`, { query: { task, limit: 200 }, signal }),
    placeholderData: keepPreviousData,
  })

/** Whether a run has done anything outside. */
export const anyActionQuery = (run: string) =>
  queryOptions({
    queryKey: ['any-action', run],
    queryFn: async ({ signal }) => (await call<Page<Action>>(`runs/${enc(run)}/actions`, { query: { limit: 1 }, signal })).items.length > 0,
  })

export const approvalsQuery = (run: string) =>
  queryOptions({
    queryKey: ['approvals', run],
    queryFn: ({ signal }) => call<Page<Approval>>(`runs/${enc(run)}/approvals`, { signal }),
  })

export const giveApproval = (run: string, task: string, reason: string, expiresInS: number) =>
  call<ApprovalMade>(`runs/${enc(run)}/tasks/${enc(task)}/approvals`, { body: { reason, expiresInS } })

export const takeApprovalBack = (run: string, approval: string) =>
  call(`runs/${enc(run)}/approvals/${enc(approval)}`, { method: 'DELETE' })

export const boardQuery = (run: string) =>
  infiniteQueryOptions({
    queryKey: ['board', run],
    queryFn: ({ pageParam, signal }) =>
      call<Page<BoardEntry>>(`runs/${enc(run)}/blackboard`, { query: { cursor: pageParam, limit: 200 }, signal }),
    initialPageParam: '',
    getNextPageParam: (page) => (page.next ? String(page.next) : undefined),
  })

/** Every revision of a key, with its value. */
export const boardRevisionsQuery = (run: string, key: string) =>
  queryOptions({
    queryKey: ['board', run, key],
    queryFn: ({ signal }) => call<Page<BoardEntry>>(`runs/${enc(run)}/blackboard/${enc(key)}/revisions`, { signal }),
  })

/** Read again what hangs on a run once it has moved, a little later: events come in bursts. */
export function useReadAgain(run: string, seq: number, ...keys: string[]): void {
  const queries = useQueryClient()
  const names = keys.join(' ')
  useEffect(() => {
    const timer = setTimeout(() => {
      for (const key of names.split(' ')) void queries.invalidateQueries({ queryKey: [key, run] })
    }, AGAIN_MS)
    return () => clearTimeout(timer)
  }, [names, queries, run, seq])
}
