/** Limits: what is in use, and the rules that say what is allowed. */
import { keepPreviousData, queryOptions } from '@tanstack/react-query'

import { call } from './client'
import type { Limit, LimitRule, LimitRuleBody, Page } from './types'

export const limitsQuery = (prefix: string) =>
  queryOptions({
    queryKey: ['limits', prefix],
    queryFn: ({ signal }) => call<Page<Limit>>('limits', { query: { prefix, limit: 500 }, signal }),
    placeholderData: keepPreviousData,
    // What is in use changes all the time and no stream tells of it.
    refetchInterval: 2000,
  })

export const limitRulesQuery = queryOptions({
  queryKey: ['limit-rules'],
  queryFn: ({ signal }) => call<Page<LimitRule>>('limit-rules', { query: { limit: 500 }, signal }),
})

export const setLimitRule = (body: Partial<LimitRuleBody> & { pattern: string }) => call<LimitRule>('limit-rules', { method: 'PUT', body })
export const removeLimitRule = (pattern: string) => call('limit-rules', { method: 'DELETE', query: { pattern } })
