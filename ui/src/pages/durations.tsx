/** How long the newest ended runs took. */
import { useInfiniteQuery } from '@tanstack/react-query'

import { runsQuery } from '@/api/queries'
import { useT } from '@/i18n'
import { Panel } from '@/parts/basics'
import { formatSpan } from '@/time/format'
import { histogram } from '@/time/histogram'

export function Durations({ window }: { window: string }) {
  const t = useT()
  const runs = useInfiniteQuery(runsQuery(`status:succeeded,failed finished:>-${window}`))
  const items = runs.data?.pages[0]?.items ?? []
  const steps = histogram(items.map((run) => (run.finishedAt ?? run.createdAt) - run.createdAt))
  if (steps.length === 0) return null
  const most = Math.max(...steps.map((step) => step.count))
  const name = (step: { from: number; to: number }) =>
    step.to === Infinity ? `> ${formatSpan(step.from)}` : `< ${formatSpan(step.to).replace('.0', '')}`
  return (
    <Panel title={t('How long the newest {n} runs took', { n: items.length })}>
      <ul className="grid grid-cols-[auto_minmax(0,1fr)_auto] items-center gap-x-3 gap-y-1 p-3 text-xs">
        {steps.map((step) => (
          <li key={step.from} className="contents">
            <span className="text-right whitespace-nowrap text-soft tabular-nums">{name(step)}</span>
            <span aria-hidden="true" className="h-2">
              <span className="block h-full rounded-sm bg-accent-fill/70" style={{ width: `${(step.count / most) * 100}%` }} />
            </span>
            <span className="tabular-nums">{step.count}</span>
          </li>
        ))}
      </ul>
    </Panel>
  )
}
