/** Why a run stands where it stands, counting while somebody looks. */
import { useQuery } from '@tanstack/react-query'

import { whyQuery } from '@/api/queries'
import { hasEnded, type Reason, type Run } from '@/api/types'
import { useNow } from '@/parts/clock'
import { usePrefs } from '@/prefs'
import { sayReason, sayWhy } from '@/why/say'

import { useNames } from './names'

/** Times are counted here; what else has changed (a lease, a worker) is asked for. */
const ASK_MS = 5000

interface WhyNow {
  line: string
  reason: Reason | null
  /** Why a task stands where it stands; undefined for one that nothing is known of. */
  ofTask: (id: string) => string | undefined
}

export function useWhy(run: Run): WhyNow {
  const ended = hasEnded(run.state)
  const why = useQuery({ ...whyQuery(run.id), refetchInterval: ended ? false : ASK_MS })
  const names = useNames()
  const { language } = usePrefs()
  const now = useNow()
  const found = why.data
  if (!found) return { line: '…', reason: null, ofTask: () => undefined }
  // The server's clock may differ from ours: what counts is what has passed since it answered.
  const then = found.at + Math.max(0, now - why.dataUpdatedAt)
  const nameOf = (path: string) => names.of(path)
  return {
    line: sayWhy(found, then, nameOf, language),
    reason: found.reason,
    ofTask: (id) => {
      const one = found.reasons.find((reason) => reason.task === id)
      return one && (sayReason(one.reason, then, nameOf, language) ?? one.text)
    },
  }
}
