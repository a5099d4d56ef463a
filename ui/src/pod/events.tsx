/** What happened to a pod, the oldest first. */
import type { Pod, PodEvent } from '@/api/types'
import { stateWord, type Text, useT } from '@/i18n'
import { Time } from '@/parts/clock'
import { Icon } from '@/parts/icons'
import { lookOf } from '@/parts/status'
import { sayReason } from '@/why/say'

import { classText, withoutName } from './pods'

const KINDS: Record<string, { text: Text; state: string }> = {
  taken: { text: 'Taken from its queue', state: 'queued' },
  decided: { text: 'Its name is decided on', state: 'queued' },
  made: { text: 'Made in the cluster', state: 'queued' },
  runs: { text: 'Began to run', state: 'running' },
  stopping: { text: 'Asked to stop', state: 'cancelling' },
}

export function PodEvents({ pod, events }: { pod: Pod; events: readonly PodEvent[] }) {
  return (
    <ol className="text-sm">
      {events.map((event, at) => (
        <Line key={at} pod={pod} event={event} />
      ))}
    </ol>
  )
}

function Line({ pod, event }: { pod: Pod; event: PodEvent }) {
  const t = useT()
  const kind = KINDS[event.kind]
  const look = lookOf(kind?.state ?? (event.reason ? 'waiting' : event.state))
  const name = event.failureClass ? classText(event.failureClass) : null
  const words = [
    kind ? t(kind.text) : event.reason ? (sayReason(event.reason, Date.now()) ?? event.message) : stateWord(t, event.state || event.kind),
    event.node && t('on {node}', { node: event.node }),
    name ? t(name) : event.failureClass,
  ]
  return (
    <li data-pod-event={event.kind} className="relative mb-2 flex items-start gap-2 before:absolute before:top-5 before:-bottom-2 before:left-2 before:w-px before:bg-line last:before:hidden">
      <Icon name={look.icon} className={`mt-0.5 bg-panel ${look.text}`} />
      <span className="min-w-0 flex-1 wrap-anywhere">
        {words.filter(Boolean).join(' · ')}
        {event.kind === 'ended' && event.message && <span className="block text-xs text-bad">{withoutName(pod, event.message)}</span>}
      </span>
      <span className="text-xs leading-5 text-soft">
        <Time at={event.at} />
      </span>
    </li>
  )
}
