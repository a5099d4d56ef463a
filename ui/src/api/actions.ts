/** What people do to runs; each verb keeps its own meaning. */
import { useQueryClient } from '@tanstack/react-query'
import { useCallback } from 'react'

import { toast, toastError } from '@/parts/feedback'

import { call } from './client'
import type { Retry, Started } from './types'

const at = (id: string, verb: string) => `runs/${encodeURIComponent(id)}/${verb}`

export const cancelRun = (id: string, reason = '') => call(at(id, 'cancel'), { body: { reason } })
export const retryRun = (id: string, task?: string, from = false) =>
  call<Retry>(at(id, 'retry'), { body: { task: task ?? null, from } })
export const previewRetry = (id: string, task: string) =>
  call<Retry>(at(id, 'retry'), { body: { task, from: true, dryRun: true } })
export const rerunRun = (id: string) => call<Started>(at(id, 'rerun'), { method: 'POST' })
/** Another run from a task on, with another input for it where one is given. */
export const forkRun = (id: string, task: string, input?: unknown) =>
  call<Started>(at(id, 'fork'), { body: input === undefined ? { task } : { task, input } })
export const signalRun = (id: string, key: string, value: unknown) => call(at(id, 'signal'), { body: { key, value } })
export const resolveCheckpoint = (id: string, answer: unknown, note: string) =>
  call(`checkpoints/${encodeURIComponent(id)}/resolve`, { body: { answer, note } })

export const rebindRun = (id: string, workerId: string | null) =>
  call(`scheduler/runs/${encodeURIComponent(id)}/rebind`, { body: { workerId, reason: 'asked in the UI' } })
export const startWorkflow = (workflow: unknown) =>
  call<{ runId: string }>('runs', { body: { workflow, clientId: 'windlass-ui' } })

export type Command =
  | { type: 'drain' | 'undrain' }
  | { type: 'pkg.install' | 'pkg.uninstall'; name: string; version: string }
  | { type: 'rebind' }
export const tellWorker = (id: string, command: Command) =>
  call(`workers/${encodeURIComponent(id)}/commands`, { body: command })

const published = (name: string, rest: string) => `published-packages/${encodeURIComponent(name)}/${rest}`
export const setPackageStatus = (name: string, version: string, status: string) =>
  call(published(name, `versions/${encodeURIComponent(version)}`), { method: 'PATCH', body: { status } })
export const setPackageTag = (name: string, tag: string, version: string) =>
  call(published(name, `tags/${encodeURIComponent(tag)}`), { method: 'PUT', body: { version } })

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
