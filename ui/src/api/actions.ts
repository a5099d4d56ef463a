/** What people do to runs; each verb keeps its own meaning. */
import { useQueryClient } from '@tanstack/react-query'
import { useCallback } from 'react'

import { toast, toastError } from '@/parts/feedback'

import { call } from './client'
import type { Bulk, Retry, Started } from './types'

const at = (id: string, verb: string) => `runs/${encodeURIComponent(id)}/${verb}`

export const cancelRun = (id: string, reason = '') => call(at(id, 'cancel'), { body: { reason } })
export const retryRun = (id: string, task?: string, from = false) =>
  call<Retry>(at(id, 'retry'), { body: { task: task ?? null, from } })
export const previewRetry = (id: string, task: string) =>
  call<Retry>(at(id, 'retry'), { body: { task, from: true, dryRun: true } })
export const rerunRun = (id: string) => call<Started>(at(id, 'rerun'), { method: 'POST' })
export const signalRun = (id: string, key: string, value: unknown) => call(at(id, 'signal'), { body: { key, value } })
export const bulk = (action: 'cancel' | 'retry', q: string) => call<Bulk>('runs/bulk', { body: { action, q } })
export const resolveCheckpoint = (id: string, answer: unknown, note: string) =>
  call(`checkpoints/${encodeURIComponent(id)}/resolve`, { body: { answer, note } })

/** Do something, say how it went, and read again what it may have changed. */
export function useAct() {
  const queries = useQueryClient()
  return useCallback(
    async <T>(work: Promise<T>, done: string, ...keys: string[]): Promise<T | undefined> => {
      try {
        const result = await work
        if (done) toast(done)
        await Promise.all(keys.map((key) => queries.invalidateQueries({ queryKey: [key] })))
        return result
      } catch (error) {
        toastError(error)
        return undefined
      }
    },
    [queries],
  )
}
