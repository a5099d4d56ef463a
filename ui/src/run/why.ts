/** Why a run stands where it stands, counting while somebody looks. */
import { useQuery } from '@tanstack/react-query'

import { whyQuery } from '@/api/queries'
import { hasEnded, type Run, type Why } from '@/api/types'
import { useNow } from '@/parts/clock'

/** Between two answers the seconds are counted here; what else has changed (a lease, a worker) is asked for. */
const ASK_MS = 5000

export function useWhy(run: Run): Why {
  const ended = hasEnded(run.state)
  const why = useQuery({ ...whyQuery(run.id), refetchInterval: ended ? false : ASK_MS })
  const now = useNow()
  if (!why.data) return { line: '…', reasons: [] }
  if (ended) return why.data
  const passed = Math.max(0, Math.round((now - why.dataUpdatedAt) / 1000))
  return {
    line: secondsLater(why.data.line, passed),
    reasons: why.data.reasons.map((reason) => ({ ...reason, text: secondsLater(reason.text, passed) })),
  }
}

/** The server's line some seconds later: what was waited for grows, what is left shrinks. */
export function secondsLater(line: string, passed: number): string {
  if (passed === 0) return line
  return line
    .replace(/(" is queued for )(\d+)( s\b)/, (_, before: string, n: string, after: string) => `${before}${Number(n) + passed}${after}`)
    .replace(/\b((?:for|expires in) )(\d+)( s(?: more|$))/, (_, before: string, n: string, after: string) => `${before}${Math.max(0, Number(n) - passed)}${after}`)
}
