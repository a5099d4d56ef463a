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
  const [text, look] =
    link.state === 'live'
      ? [t('live'), 'text-ok']
      : link.state === 'stale'
        ? [t('stale since {time}', { time: clock(link.since) }), 'bg-bad-soft text-bad']
        : link.state === 'reconnecting'
          ? [t('reconnecting'), 'bg-wait-soft text-wait']
          : [t('connecting'), 'text-idle']
  return (
    <span role="status" data-link={link.state} className={`inline-flex h-6 items-center gap-1.5 rounded px-1.5 text-xs font-medium whitespace-nowrap ${look}`}>
      <span aria-hidden="true" className={`size-1.5 rounded-full ${link.state === 'live' ? 'bg-current' : 'border border-current'}`} />
      {text}
    </span>
  )
}
