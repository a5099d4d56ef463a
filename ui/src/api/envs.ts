/** Environments: resources, the sessions tasks have, the runtimes that make places, and images. */
import { infiniteQueryOptions, keepPreviousData, queryOptions } from '@tanstack/react-query'

import { call, fetchFile } from './client'
import type { EnvImage, EnvKind, EnvResource, EnvSession, Page } from './types'

const session = (id: string) => `envs/sessions/${encodeURIComponent(id)}`

export const envResourcesQuery = queryOptions({
  queryKey: ['env-resources'],
  queryFn: ({ signal }) => call<Page<EnvResource>>('envs/resources', { query: { limit: 500 }, signal }),
  // What is leased changes all the time and no stream tells of it.
  refetchInterval: 2000,
})

export const envKindsQuery = queryOptions({
  queryKey: ['env-kinds'],
  queryFn: ({ signal }) => call<Page<EnvKind>>('envs/kinds', { signal }),
  refetchInterval: 15_000,
})

export interface SessionsWanted {
  resource?: string
  state?: string
  run?: string
}

export const envSessionsQuery = (wanted: SessionsWanted) =>
  infiniteQueryOptions({
    queryKey: ['env-sessions', wanted.resource ?? '', wanted.state ?? '', wanted.run ?? ''],
    queryFn: ({ pageParam, signal }) =>
      call<Page<EnvSession>>('envs/sessions', { query: { ...wanted, cursor: pageParam, limit: 100 }, signal }),
    initialPageParam: '',
    getNextPageParam: (page) => (page.next ? String(page.next) : undefined),
    placeholderData: keepPreviousData,
    refetchInterval: 5000,
  })

/** All sessions of a run, also those that are over. */
export const taskSessionsQuery = (run: string) =>
  queryOptions({
    queryKey: ['env-sessions', 'run', run],
    queryFn: ({ signal }) => call<Page<EnvSession>>('envs/sessions', { query: { run, state: 'all', limit: 200 }, signal }),
    refetchInterval: 5000,
  })

export const envSessionQuery = (id: string) =>
  queryOptions({
    queryKey: ['env-session', id],
    queryFn: ({ signal }) => call<EnvSession>(session(id), { signal }),
    retry: false,
    refetchInterval: 5000,
  })

export const releaseSession = (id: string) => call(`${session(id)}/release`, { body: {} })

export const takeSnapshot = (id: string) => call(`${session(id)}/snapshots`, { method: 'POST' })

/** What a browser shows; taken when it is asked for, never kept. */
export const screenshotQuery = (id: string) =>
  queryOptions({
    queryKey: ['env-screenshot', id],
    queryFn: async ({ signal }) => dataUrl(await fetchFile(`${session(id)}/screenshot`, signal)),
    retry: false,
    gcTime: 0,
    refetchOnWindowFocus: false,
  })

/** A picture as an address of its own: the page's policy allows `data:`, and no `blob:`. */
export function dataUrl(picture: Blob): Promise<string> {
  return new Promise((done, failed) => {
    const reader = new FileReader()
    reader.onload = () => done(String(reader.result))
    reader.onerror = () => failed(reader.error ?? new Error('the picture cannot be read'))
    reader.readAsDataURL(picture)
  })
}

export const envImagesQuery = queryOptions({
  queryKey: ['env-images'],
  queryFn: ({ signal }) => call<Page<EnvImage>>('envs/images', { query: { limit: 500 }, signal }),
  refetchInterval: 5000,
})

/** One image with its log, which grows while it is built. */
export const envImageQuery = (id: string) =>
  queryOptions({
    queryKey: ['env-image', id],
    queryFn: ({ signal }) => call<EnvImage>(`envs/images/${encodeURIComponent(id)}`, { signal }),
    refetchInterval: 2000,
  })
