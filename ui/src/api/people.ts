/** Users, tenants and the audit trail, as administrators read them. */
import { infiniteQueryOptions, keepPreviousData, queryOptions } from '@tanstack/react-query'

import { call } from './client'
import type { AuditEvent, Page, Tenant, User } from './types'

interface CursorPage<T> {
  items: T[]
  nextCursor: string | null
}

export const peopleQuery = queryOptions({
  queryKey: ['users'],
  queryFn: ({ signal }) => call<CursorPage<User>>('users', { query: { limit: 200 }, signal }),
  retry: false,
})

export const tenantsQuery = queryOptions({
  queryKey: ['tenants'],
  queryFn: ({ signal }) => call<Page<Tenant>>('tenants', { query: { limit: 200 }, tenant: '', signal }),
  retry: false,
})

export const auditQuery = (action: string, actorId: string) =>
  infiniteQueryOptions({
    queryKey: ['audit', action, actorId],
    queryFn: ({ pageParam, signal }) =>
      call<CursorPage<AuditEvent>>('audit-events', { query: { action, actorId, cursor: pageParam, limit: 100 }, signal }),
    initialPageParam: '',
    getNextPageParam: (page) => page.nextCursor ?? undefined,
    placeholderData: keepPreviousData,
    retry: false,
  })

export const userPath = (user: User, verb: string) => `users/${encodeURIComponent(user.userId)}/${verb}`
