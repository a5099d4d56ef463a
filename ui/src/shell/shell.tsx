/** The frame around every page. */
import { useQuery } from '@tanstack/react-query'
import { Link, Outlet, useNavigate, useRouterState } from '@tanstack/react-router'
import { useEffect, useRef, useState } from 'react'

import { inboxQuery } from '@/api/queries'
import { useT } from '@/i18n'
import { Button } from '@/parts/basics'
import { Toasts } from '@/parts/feedback'
import { setPrefs, usePrefs } from '@/prefs'

import { LiveChip } from './chip'
import { useHealth } from './health'
import { Help } from './help'
import { useKeys } from './keys'
import { PLACES } from './nav'
import { Palette } from './palette'
import { SignIn } from './signin'

export function Shell() {
  const t = useT()
  const health = useHealth()
  const navigate = useNavigate()
  const [palette, setPalette] = useState(false)
  const [help, setHelp] = useState(false)
  useKeys({
    'mod+k': () => setPalette(true),
    '?': () => setHelp(true),
    ...Object.fromEntries(PLACES.map((place) => [place.keys, () => void navigate({ to: place.to })])),
  })
  if (health.signedOut) return <SignIn />
  return (
    <div className="flex min-h-full flex-col md:flex-row">
      <a href="#main" className="sr-only focus:not-sr-only focus:absolute focus:z-50 focus:bg-panel focus:p-2">
        {t('Skip to content')}
      </a>
      <Nav />
      <div className="flex min-w-0 flex-1 flex-col">
        <Header onPalette={() => setPalette(true)} onHelp={() => setHelp(true)} />
        {health.offline && (
          <div role="alert" className="border-b border-wait bg-wait-soft px-4 py-2 text-sm text-wait">
            ⚠ {t('Actions are off: {reason} What is shown stays readable.', { reason: health.offline })}
          </div>
        )}
        <main id="main" tabIndex={-1} className="min-w-0 flex-1 p-3 outline-none md:p-5">
          <Outlet />
        </main>
      </div>
      {palette && <Palette onClose={() => setPalette(false)} onHelp={() => setHelp(true)} />}
      {help && <Help onClose={() => setHelp(false)} />}
      <Toasts />
    </div>
  )
}

function Nav() {
  const t = useT()
  const inbox = useQuery(inboxQuery('open'))
  const waiting = inbox.data?.items.length ?? 0
  const nav = useRef<HTMLElement>(null)
  const place = useRouterState({ select: (state) => state.location.pathname })
  useEffect(() => {
    // On a narrow page the places are a row that scrolls; where one is should be seen.
    nav.current?.querySelector('[aria-current=page]')?.scrollIntoView({ block: 'nearest', inline: 'center' })
  }, [place, waiting])
  const look = 'flex shrink-0 items-center gap-2 rounded px-2.5 py-1.5 text-sm hover:bg-sunk'
  return (
    <nav
      ref={nav}
      aria-label={t('Main')}
      className="sticky top-0 z-30 flex shrink-0 gap-0.5 overflow-x-auto border-b border-line bg-panel p-1.5 md:h-screen md:w-48 md:flex-col md:border-r md:border-b-0 md:p-3"
    >
      <span className="hidden px-2 pb-3 text-lg font-bold tracking-tight md:block">
        <span aria-hidden="true" className="text-accent">
          ⊕{' '}
        </span>
        Windlass
      </span>
      {PLACES.map((place) => (
        <Link
          key={place.to}
          to={place.to}
          className={look}
          activeOptions={{ exact: place.to === '/', includeSearch: false }}
          activeProps={{ className: `${look} bg-accent-soft font-semibold text-accent`, 'aria-current': 'page' }}
        >
          <span aria-hidden="true" className="hidden w-4 text-center md:inline">
            {place.icon}
          </span>
          {t(place.text)}
          {place.to === '/inbox' && waiting > 0 && (
            <span className="rounded-full bg-wait-soft px-1.5 text-xs font-semibold text-wait">
              {waiting}
              <span className="sr-only"> {t('waiting')}</span>
            </span>
          )}
        </Link>
      ))}
    </nav>
  )
}

function Header({ onPalette, onHelp }: { onPalette: () => void; onHelp: () => void }) {
  const t = useT()
  const { zone, theme } = usePrefs()
  const zones = { local: 'utc', utc: 'relative', relative: 'local' } as const
  const themes = { system: 'light', light: 'dark', dark: 'system' } as const
  const zoneText = zone === 'utc' ? 'UTC' : zone === 'local' ? t('Local time') : t('Relative')
  const themeText = theme === 'system' ? t('System') : theme === 'light' ? t('Light') : t('Dark')
  return (
    <header className="flex items-center gap-1.5 border-b border-line bg-panel px-3 py-1.5 md:px-5">
      <LiveChip />
      <span className="flex-1" />
      <Button look="quiet" aria-label={`${t('Command palette')} ⌘K`} onClick={onPalette}>
        <kbd className="rounded border border-line px-1.5 font-mono text-xs">⌘K</kbd>
      </Button>
      <Button
        look="quiet"
        aria-label={t('Time zone: {zone}', { zone: zoneText })}
        onClick={() => setPrefs({ zone: zones[zone] })}
      >
        <span aria-hidden="true">◷</span>
        <span className="hidden sm:inline">{zoneText}</span>
      </Button>
      <Button
        look="quiet"
        aria-label={t('Theme: {theme}', { theme: themeText })}
        onClick={() => setPrefs({ theme: themes[theme] })}
      >
        <span aria-hidden="true">◐</span>
        <span className="hidden sm:inline">{themeText}</span>
      </Button>
      <Button look="quiet" aria-label={t('Keyboard shortcuts')} onClick={onHelp}>
        ?
      </Button>
    </header>
  )
}
