/** What Kubernetes itself says happened to a pod, the most recent first. */
import type { KubernetesEvent, KubernetesEvents } from '@/api/types'
import { useT } from '@/i18n'
import { Time } from '@/parts/clock'
import { Icon } from '@/parts/icons'

export function KubernetesList({ told }: { told: KubernetesEvents | null | undefined }) {
  const t = useT()
  if (!told) return <p className="text-sm text-soft">{t('Kubernetes has not been asked yet.')}</p>
  if (told.state === 'forbidden') {
    return (
      <p data-kubernetes="forbidden" className="text-sm text-wait">
        {t('The server may not read events. Grant its account get and list of events in this namespace.')}
      </p>
    )
  }
  if (told.items.length === 0) return <p className="text-sm text-soft">{t('Kubernetes has said nothing of it.')}</p>
  return (
    <>
      <ol className="text-sm">
        {[...told.items].reverse().map((event) => (
          <Line key={`${event.type} ${event.reason} ${event.message}`} event={event} />
        ))}
      </ol>
      {told.older > 0 && <p className="text-xs text-soft">{t('Older events that are not kept: {n}', { n: told.older })}</p>}
    </>
  )
}

function Line({ event }: { event: KubernetesEvent }) {
  const t = useT()
  const warns = event.type === 'Warning'
  return (
    <li data-kubernetes-event={event.reason} className="mb-2 flex items-start gap-2">
      <Icon name={warns ? 'warning' : 'signal'} className={`mt-0.5 ${warns ? 'text-wait' : 'text-soft'}`} />
      <span className="min-w-0 flex-1 wrap-anywhere">
        <span className="font-medium">{event.reason}</span>
        {event.count > 1 && (
          <span className="text-soft tabular-nums" title={t('How often it came')}>
            {' '}
            ×{event.count}
          </span>
        )}
        <span className="block text-xs">{event.message}</span>
      </span>
      <span className="text-xs leading-5 text-soft">
        {event.lastAt > 0 && <Time at={event.lastAt} />}
      </span>
    </li>
  )
}
