/** Dead letters: reading, replaying and dropping them. */
import { infiniteQueryOptions, keepPreviousData, queryOptions } from '@tanstack/react-query'

import { call } from './client'
import type { DeadLetter, DeadLetterDetail, DeadLettersDone, Page } from './types'

export interface LettersWanted {
  class?: string
  flow?: string
}

export const lettersQuery = (wanted: LettersWanted) =>
  infiniteQueryOptions({
    queryKey: ['dead-letters', wanted.class ?? '', wanted.flow ?? ''],
    queryFn: ({ pageParam, signal }) =>
      call<Page<DeadLetter>>('dead-letters', { query: { class: wanted.class, flow: wanted.flow, cursor: pageParam, limit: 200 }, signal }),
    initialPageParam: '',
    getNextPageParam: (page) => (page.next ? String(page.next) : undefined),
    placeholderData: keepPreviousData,
    refetchInterval: 15_000,
  })

export const letterQuery = (id: string) =>
  queryOptions({
    queryKey: ['dead-letter', id],
    queryFn: ({ signal }) => call<DeadLetterDetail>(`dead-letters/${encodeURIComponent(id)}`, { signal }),
    retry: false,
  })

export type LetterVerb = 'replay' | 'drop'

export const letLetters = (verb: LetterVerb, ids: readonly string[]) =>
  call<DeadLettersDone>(`dead-letters/${verb}`, { body: { ids } })

const ROUNDS_MAX = 200

/** Do it to all that a filter means, so many at a time; what dies meanwhile is not meant. */
export async function letAllLetters(verb: LetterVerb, wanted: LettersWanted): Promise<DeadLettersDone> {
  const body = { failureClass: wanted.class ?? '', flow: wanted.flow ?? '', all: true }
  const sum: DeadLettersDone = { matched: 0, done: 0, refused: [], next: null, before: Date.now() }
  let more: { cursor?: string; before?: number } = {}
  for (let round = 0; round < ROUNDS_MAX; round += 1) {
    const answer = await call<DeadLettersDone>(`dead-letters/${verb}`, { body: { ...body, ...more } })
    sum.matched += answer.matched
    sum.done += answer.done
    sum.refused = [...(sum.refused ?? []), ...(answer.refused ?? [])]
    if (!answer.next) break
    more = { cursor: answer.next, before: answer.before }
  }
  return sum
}
