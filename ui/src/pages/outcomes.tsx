/** Small drawings of how runs ended. */
import { Link } from '@tanstack/react-router'

import type { Stats } from '@/api/types'
import { locale, stateWord, useT } from '@/i18n'
import { lookOf, StatusIcon } from '@/parts/status'
import { usePrefs } from '@/prefs'
import { formatTime } from '@/time/format'

/** Runs over the window, stacked by outcome; the numbers are in the table for screen readers. */
export function Outcomes({ stats }: { stats: Stats }) {
  const t = useT()
  const { zone } = usePrefs()
  const most = Math.max(1, ...stats.buckets.map((b) => b.succeeded + b.failed + b.other))
  const clock = (at: number) => formatTime(at, zone === 'relative' ? 'local' : zone, locale(), stats.at)
  const width = 100 / stats.buckets.length
  return (
    <figure className="p-3">
      <svg viewBox="0 0 100 30" preserveAspectRatio="none" className="h-28 w-full" role="img" aria-label={t('Runs by outcome')}>
        {stats.buckets.map((bucket, at) => {
          let y = 30
          const parts: [string, number][] = [
            ['--ok', bucket.succeeded],
            ['--bad', bucket.failed],
            ['--run', bucket.other],
          ]
          return parts.map(([color, count]) => {
            const height = (count / most) * 28
            y -= height
            return (
              <rect key={`${at}${color}`} x={at * width + width * 0.1} y={y} width={width * 0.8} height={height} fill={`var(${color})`}>
                <title>{`${clock(bucket.at)}: ✓${bucket.succeeded} ✗${bucket.failed} ▶${bucket.other}`}</title>
              </rect>
            )
          })
        })}
        <line x1="0" x2="100" y1="29.9" y2="29.9" stroke="var(--line)" strokeWidth="0.3" />
      </svg>
      <figcaption className="mt-1 flex justify-between text-xs text-soft">
        <span>{clock(stats.at - stats.windowMs)}</span>
        <span>
          <Legend look="bg-ok" text={t('succeeded')} /> <Legend look="bg-bad" text={t('failed')} /> <Legend look="bg-run" text={t('other')} />
        </span>
        <span>{clock(stats.at)}</span>
      </figcaption>
      {stats.capped && <p className="text-xs text-soft">{t('Only the newest {n} runs are counted.', { n: stats.inWindow })}</p>}
    </figure>
  )
}

function Legend({ look, text }: { look: string; text: string }) {
  return (
    <span className="ml-3 inline-flex items-center gap-1.5">
      <span aria-hidden="true" className={`size-2 rounded-sm ${look}`} />
      {text}
    </span>
  )
}

/** The newest runs as small bars; each opens its run. */
export function LastRuns({ runs }: { runs: [string, string][] }) {
  const t = useT()
  return (
    <span className="flex gap-0.5">
      {runs.slice(-12).map(([id, state]) => (
        <Link
          key={id}
          to="/runs/$id"
          params={{ id }}
          title={`${stateWord(t, state)} ${id}`}
          aria-label={`${stateWord(t, state)} ${id.slice(0, 8)}`}
          className={`inline-flex h-5 w-4 items-center justify-center rounded-sm ${lookOf(state).soft} ${lookOf(state).text}`}
        >
          <StatusIcon state={state} size={12} />
        </Link>
      ))}
    </span>
  )
}
