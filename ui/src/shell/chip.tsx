/** Says whether what is on the page is live, and if not, since when. */
import { locale, useT } from '@/i18n'
import { useLink } from '@/live/store'
import { usePrefs } from '@/prefs'
import { formatTime } from '@/time/format'

export function LiveChip() {
  const t = useT()
  const link = useLink()
  const { zone } = usePrefs()
  const clock = (at: number) => formatTime(at, zone === 'relative' ? 'local' : zone, locale(), Date.now())
  const [icon, text, look] =
    link.state === 'live'
      ? ['●', t('live'), 'bg-ok-soft text-ok']
      : link.state === 'stale'
        ? ['○', t('stale since {time}', { time: clock(link.since) }), 'bg-bad-soft text-bad']
        : link.state === 'reconnecting'
          ? ['◌', t('reconnecting'), 'bg-wait-soft text-wait']
          : ['◌', t('connecting'), 'bg-idle-soft text-idle']
  return (
    <span role="status" data-link={link.state} className={`rounded-full px-2 py-0.5 text-xs font-semibold ${look}`}>
      <span aria-hidden="true">{icon} </span>
      {text}
    </span>
  )
}
