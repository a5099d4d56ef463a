/** The frame around every page. */
import { Outlet, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'

import { useT } from '@/i18n'
import { Toasts } from '@/parts/feedback'
import { Icon } from '@/parts/icons'
import { TipProvider } from '@/parts/tip'

import { useHealth } from './health'
import { Help } from './help'
import { useKeys } from './keys'
import { PLACES } from './nav'
import { Palette } from './palette'
import { Drawer, SideBar } from './sidebar'
import { SignIn } from './signin'
import { TopBar } from './topbar'

type Shown = 'palette' | 'help' | 'drawer' | null

export function Shell() {
  const t = useT()
  const health = useHealth()
  const navigate = useNavigate()
  const [shown, setShown] = useState<Shown>(null)
  const close = () => setShown(null)
  useKeys({
    'mod+k': () => setShown('palette'),
    '?': () => setShown('help'),
    ...Object.fromEntries(PLACES.map((place) => [place.keys, () => void navigate({ to: place.to })])),
  })
  if (health.signedOut) return <SignIn />
  return (
    <TipProvider>
      <div className="flex min-h-full">
        <a href="#main" className="sr-only focus:not-sr-only focus:absolute focus:z-50 focus:bg-panel focus:p-2">
          {t('Skip to content')}
        </a>
        <SideBar />
        <div className="flex min-w-0 flex-1 flex-col">
          <TopBar onMenu={() => setShown('drawer')} onPalette={() => setShown('palette')} onHelp={() => setShown('help')} />
          {health.offline && (
            <div role="alert" className="flex items-center gap-2 bg-wait-soft px-4 py-2 text-sm text-wait md:px-5">
              <Icon name="warning" />
              {t('Actions are off: {reason} What is shown stays readable.', { reason: health.offline })}
            </div>
          )}
          <main id="main" tabIndex={-1} className="min-w-0 flex-1 p-3 outline-none md:px-5 md:py-4">
            <Outlet />
          </main>
        </div>
        {shown === 'drawer' && <Drawer onClose={close} />}
        {shown === 'palette' && <Palette onClose={close} onHelp={() => setShown('help')} />}
        {shown === 'help' && <Help onClose={close} />}
        <Toasts />
      </div>
    </TipProvider>
  )
}
