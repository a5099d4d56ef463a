/** A bulk action as it goes: run by run, a few at a time, so that it can be watched and stopped. */
import { call } from '@/api/client'
import type { Page, Run } from '@/api/types'

export type Verb = 'cancel' | 'retry'

export interface BulkState {
  verb: Verb
  total: number
  done: number
  failed: { id: string; detail: string }[]
  over: boolean
}

const AT_ONCE = 4
const RUNS_MAX = 10_000

/** Do something to each run; `tell` is told how far it is, at most once a frame. */
export async function doEach(
  verb: Verb,
  ids: readonly string[],
  each: (id: string) => Promise<unknown>,
  tell: (state: BulkState) => void,
  stop: AbortSignal,
): Promise<BulkState> {
  const state: BulkState = { verb, total: ids.length, done: 0, failed: [], over: false }
  const left = [...ids]
  const worker = async () => {
    for (let id = left.shift(); id && !stop.aborted; id = left.shift()) {
      try {
        await each(id)
        state.done += 1
      } catch (error) {
        state.failed.push({ id, detail: error instanceof Error ? error.message : String(error) })
      }
      tell({ ...state, failed: [...state.failed] })
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
  const end = { ...state, over: true }
  tell(end)
  return end
}

/** The runs a verb makes sense for. */
const FITTING: Record<Verb, string> = {
  cancel: 'status:queued,running,waiting',
  retry: 'status:failed',
}

/** A filter for those of its runs that a verb makes sense for. */
export function fitting(verb: Verb, q: string): string {
  return `${q} ${FITTING[verb]}`
}

/** The runs a filter finds that the verb makes sense for. */
export async function matchingIds(verb: Verb, q: string): Promise<string[]> {
  const ids: string[] = []
  let cursor = ''
  do {
    const page: Page<Run> = await call('runs', { query: { q: fitting(verb, q), cursor, limit: 500 } })
    ids.push(...page.items.map((run) => run.id))
    cursor = page.next ? String(page.next) : ''
  } while (cursor && ids.length < RUNS_MAX)
  return ids
}
