/** In one line what is to be known of a pod: why it failed, what it waits for, how far it is. */
import type { Pod } from '@/api/types'
import { useT } from '@/i18n'

import { classText, percentOf, saysOf } from './pods'

const TONES = { failed: 'text-bad', waits: 'text-wait', progress: '', none: 'text-soft' } as const

export function SaysLine({ pod, whole = false }: { pod: Pod; whole?: boolean }) {
  const t = useT()
  const says = saysOf(pod)
  const name = pod.failureClass ? classText(pod.failureClass) : null
  const kind = name ? t(name) : pod.failureClass
  const line = kind && says.text ? `${kind}: ${says.text}` : kind || says.text
  const percent = percentOf(pod)
  if (!line && percent === null) return whole ? null : <span className="hidden text-soft md:inline">–</span>
  return (
    <span className="flex min-w-0 items-center gap-2">
      {percent !== null && <Progress name={pod.pod} percent={percent} />}
      <span title={line} className={`min-w-0 wrap-anywhere ${whole ? '' : 'line-clamp-2 md:block md:truncate'} ${TONES[says.kind]}`}>
        {line}
      </span>
    </span>
  )
}

function Progress({ name, percent }: { name: string; percent: number }) {
  const t = useT()
  return (
    <>
      <span role="progressbar" aria-label={`${t('Progress')}: ${name}`} aria-valuenow={percent} aria-valuemin={0} aria-valuemax={100} className="h-1.5 w-16 shrink-0 overflow-clip rounded-full bg-idle-soft">
        <span className="block h-full bg-run" style={{ width: `${percent}%` }} />
      </span>
      <span className="text-xs tabular-nums">{percent}%</span>
    </>
  )
}
