/** Lists of runs, moved on by the stream without asking the server again. */
import type { Run } from '@/api/types'

import type { RunNews } from './news'

export type Latest = ReadonlyMap<string, RunNews>

const KEPT_MAX = 5000

/** The newest news of each run; when it grows too large the oldest are forgotten. */
export function remember(latest: Latest, news: readonly RunNews[]): Latest {
  const next = new Map(latest)
  for (const item of news) {
    if ((next.get(item.runId)?.seq ?? 0) >= item.seq) continue
    next.delete(item.runId)
    next.set(item.runId, item)
  }
  for (const id of next.keys()) {
    if (next.size <= KEPT_MAX) break
    next.delete(id)
  }
  return next
}

/** A row as it stands now: the later of what was read and what the stream told. */
export function withNews(run: Run, latest: Latest): Run {
  const news = latest.get(run.id)
  if (!news || news.seq <= run.seq) return run
  const { state, seq, error, failures, open, generation, startedAt, updatedAt, finishedAt } = news
  return { ...run, state, seq, error, failures, open, generation, startedAt, updatedAt, finishedAt }
}

/** Runs the stream told of that began after the newest row shown, which a list offers to load. */
export function newSince(latest: Latest, newestId: string): number {
  let count = 0
  for (const id of latest.keys()) if (id > newestId) count += 1
  return count
}
