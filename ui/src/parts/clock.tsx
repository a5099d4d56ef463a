/** Times on the page: one component, one clock, one zone. The clock stands while the stream is stale. */
import { useSyncExternalStore } from 'react'

import { locale } from '@/i18n'
import { live } from '@/live/store'
import { usePrefs } from '@/prefs'
import { formatAgo, formatSpan, formatTime } from '@/time/format'

let now = Date.now()
const listeners = new Set<() => void>()
setInterval(() => {
  const { state } = live.get().link
  if (state === 'stale' || state === 'reconnecting' || document.hidden) return
  now = Date.now()
  listeners.forEach((listener) => listener())
}, 1000)

export function useNow(): number {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => now,
  )
}

export function Time({ at }: { at: number | null | undefined }) {
  const { zone } = usePrefs()
  if (!at) return <span className="text-soft">–</span>
  const exact = new Date(at).toISOString()
  return zone === 'relative' ? (
    <Ago at={at} />
  ) : (
    <time dateTime={exact} title={exact} className="whitespace-nowrap tabular-nums">
      {formatTime(at, zone, locale(), Date.now())}
    </time>
  )
}

/** A server's clock may be a little ahead of the browser's: what has just happened is not to come. */
const SKEW_MS = 3000

/** How long ago, or how long until. */
export function Ago({ at }: { at: number }) {
  const current = useNow()
  const from = at > current && at - current < SKEW_MS ? at : current
  const exact = new Date(at).toISOString()
  return (
    <time dateTime={exact} title={exact} className="whitespace-nowrap">
      {formatAgo(at, from, locale())}
    </time>
  )
}

/** How long something took, or takes so far. */
export function Span({ from, to }: { from: number | null | undefined; to: number | null | undefined }) {
  if (!from) return <span className="text-soft">–</span>
  if (to) return <span className="whitespace-nowrap tabular-nums">{formatSpan(to - from)}</span>
  return <Running from={from} />
}

function Running({ from }: { from: number }) {
  const current = useNow()
  return <span className="whitespace-nowrap tabular-nums">{formatSpan(Math.max(0, current - from))}</span>
}
