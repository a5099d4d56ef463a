/** How full a worker is: bars with the numbers beside them. */
import type { Worker } from '@/api/types'
import { type Text, useT } from '@/i18n'

import { type Gauge, healthOf } from './health'

const NAMES: Record<Gauge['name'], Text> = { cpu: 'CPU', memory: 'Memory', disk: 'Disk', work: 'Work' }

export function Gauges({ worker }: { worker: Worker }) {
  const t = useT()
  const { gauges, healthy } = healthOf(worker)
  // What one that is gone said last says nothing about now.
  if (worker.state === 'offline') return null
  return (
    <ul className="grid grid-cols-[auto_minmax(3rem,1fr)_auto] items-center gap-x-2 text-xs">
      {healthy === false && <li className="col-span-3 font-semibold text-bad">{t('says it is not healthy')}</li>}
      {gauges.map((gauge) => (
        <li key={gauge.name} className="contents">
          <span className="text-soft">{t(NAMES[gauge.name])}</span>
          <span aria-hidden="true" className="h-1.5 rounded bg-idle-soft">
            <span className={`block h-full rounded ${tone(gauge.percent)}`} style={{ width: `${gauge.percent}%` }} />
          </span>
          <span className="text-right whitespace-nowrap tabular-nums">{gauge.text}</span>
        </li>
      ))}
    </ul>
  )
}

function tone(percent: number): string {
  return percent >= 95 ? 'bg-bad' : percent >= 80 ? 'bg-wait' : 'bg-ok'
}
