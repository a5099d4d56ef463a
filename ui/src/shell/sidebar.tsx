/** The places, at the side of a wide page and in a drawer on a narrow one. */
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { Dialog } from 'radix-ui'

import { inboxQuery } from '@/api/queries'
import { useT } from '@/i18n'
import { SCRIM } from '@/parts/dialog'
import { Icon } from '@/parts/icons'

import { GROUPS, type Place, SETTINGS } from './nav'

export function Brand() {
  return (
    <span className="flex items-center gap-2 text-lg font-semibold tracking-tight">
      <svg aria-hidden="true" viewBox="0 0 32 32" className="size-5 text-accent-fill dark:text-accent">
        <circle cx="16" cy="16" r="10.5" fill="none" stroke="currentColor" strokeWidth="4" />
        <path d="M16 1v30M1 16h30" stroke="currentColor" strokeWidth="3" strokeLinecap="round" />
      </svg>
      Windlass
    </span>
  )
}

export function SideBar() {
  const t = useT()
  return (
    <nav
      aria-label={t('Main')}
      className="sticky top-0 hidden h-screen w-52 shrink-0 flex-col overflow-y-auto border-r border-line px-2 pb-3 md:flex"
    >
      <div className="flex h-12 shrink-0 items-center px-2">
        <Brand />
      </div>
      <Places />
    </nav>
  )
}

export function Drawer({ onClose }: { onClose: () => void }) {
  const t = useT()
  return (
    <Dialog.Root open onOpenChange={(open) => !open && onClose()}>
      <Dialog.Portal>
        <div className={SCRIM} />
        <Dialog.Content aria-describedby={undefined} onEscapeKeyDown={(event) => event.stopPropagation()} className="fixed inset-y-0 left-0 z-50 flex w-64 flex-col overflow-y-auto bg-raised px-2 pb-3 shadow-float">
          <Dialog.Title className="sr-only">{t('Main')}</Dialog.Title>
          <div className="flex h-12 shrink-0 items-center px-2">
            <Brand />
          </div>
          <nav aria-label={t('Main')} className="flex flex-1 flex-col" onClick={onClose}>
            <Places />
          </nav>
        </Dialog.Content>
      </Dialog.Portal>
    </Dialog.Root>
  )
}

function Places() {
  const t = useT()
  const inbox = useQuery(inboxQuery('open'))
  const waiting = inbox.data?.items.length ?? 0
  return (
    <>
      {GROUPS.map((group) => (
        <div key={group.text} className="mb-3">
          <p className="px-2 py-1 text-xs font-medium text-soft">{t(group.text)}</p>
          {group.places.map((place) => (
            <Way key={place.to} place={place} count={place.to === '/inbox' ? waiting : 0} />
          ))}
        </div>
      ))}
      <div className="mt-auto">
        <Way place={SETTINGS} count={0} />
      </div>
    </>
  )
}

function Way({ place, count }: { place: Place; count: number }) {
  const t = useT()
  const look = 'group mb-px flex h-7 items-center gap-2 rounded px-2 text-sm transition-colors'
  return (
    <Link
      to={place.to}
      className={`${look} text-soft hover:bg-sunk hover:text-text`}
      activeOptions={{ exact: place.to === '/', includeSearch: false }}
      activeProps={{ className: `${look} bg-accent-soft font-medium !text-accent`, 'aria-current': 'page' }}
    >
      <Icon name={place.icon} />
      <span className="flex-1">{t(place.text)}</span>
      {count > 0 && (
        <span className="rounded-full bg-wait-soft px-1.5 text-xs font-medium text-wait tabular-nums">
          {count}
          <span className="sr-only"> {t('waiting')}</span>
        </span>
      )}
    </Link>
  )
}
