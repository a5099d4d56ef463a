/** Above every page: where one is, the way to everything else, whether it is live, and one's own settings. */
import { Link, useRouterState } from '@tanstack/react-router'

import { getToken, signOut } from '@/api/client'
import { useT } from '@/i18n'
import { Button, IconButton } from '@/parts/basics'
import { Icon } from '@/parts/icons'
import { Menu, MenuChoices, MenuItem, MenuLine } from '@/parts/menu'
import { setPrefs, usePrefs } from '@/prefs'

import { LiveChip } from './chip'
import { useShownCrumb } from './crumb'
import { placeOf } from './nav'
import { TenantSwitch } from './tenant'

interface Props {
  onMenu: () => void
  onPalette: () => void
  onHelp: () => void
}

export function TopBar({ onMenu, onPalette, onHelp }: Props) {
  const t = useT()
  return (
    <header className="sticky top-0 z-30 flex h-12 shrink-0 items-center gap-2 border-b border-line bg-bg px-3 md:px-5">
      <span className="md:hidden">
        <IconButton icon="menu" label={t('Main')} onClick={onMenu} />
      </span>
      <Crumbs />
      <span className="flex-1" />
      <button
        type="button"
        onClick={onPalette}
        className="flex h-7 items-center gap-2 rounded border border-line bg-panel px-2 text-sm text-soft transition-colors hover:border-edge lg:w-60"
      >
        <Icon name="search" size={14} />
        <span className="flex-1 text-left max-lg:sr-only">{t('Search or go to…')}</span>
        <kbd className="hidden rounded-sm bg-sunk px-1 font-mono text-xs sm:inline">⌘K</kbd>
      </button>
      <TenantSwitch />
      <LiveChip />
      <OwnMenu onHelp={onHelp} />
    </header>
  )
}

function Crumbs() {
  const t = useT()
  const path = useRouterState({ select: (state) => state.location.pathname })
  const crumb = useShownCrumb()
  const found = placeOf(path)
  if (!found) return null
  const { place, group } = found
  return (
    <nav aria-label={t('Breadcrumbs')} className="flex min-w-0 items-center gap-1.5 text-sm text-soft">
      {group && (
        <>
          <span className="hidden lg:inline">{t(group.text)}</span>
          <span aria-hidden="true" className="hidden opacity-50 lg:inline">
            /
          </span>
        </>
      )}
      {crumb ? (
        <Link to={place.to} className="hover:text-text hover:underline">
          {t(place.text)}
        </Link>
      ) : (
        <span className="truncate font-medium text-text">{t(place.text)}</span>
      )}
      {crumb && (
        <>
          <span aria-hidden="true" className="opacity-50">
            /
          </span>
          <span className="min-w-0 truncate font-medium text-text">{crumb}</span>
        </>
      )}
    </nav>
  )
}

function OwnMenu({ onHelp }: { onHelp: () => void }) {
  const t = useT()
  const { theme, zone, language } = usePrefs()
  return (
    <Menu label={t('Your settings')} button={<Button look="quiet" icon="user" aria-label={t('Your settings')} className="w-7 !px-0" />}>
      <MenuChoices
        label={t('Theme')}
        value={theme}
        choices={[
          { id: 'system', text: t('System'), icon: 'system' },
          { id: 'light', text: t('Light'), icon: 'light' },
          { id: 'dark', text: t('Dark'), icon: 'dark' },
        ]}
        onChange={(value) => setPrefs({ theme: value })}
      />
      <MenuLine />
      <MenuChoices
        label={t('Times')}
        value={zone}
        choices={[
          { id: 'local', text: t('Local time') },
          { id: 'utc', text: 'UTC' },
          { id: 'relative', text: t('Relative') },
        ]}
        onChange={(value) => setPrefs({ zone: value })}
      />
      <MenuLine />
      <MenuChoices
        label={t('Language')}
        value={language}
        choices={[
          { id: 'en', text: 'English' },
          { id: 'zh', text: '中文' },
        ]}
        onChange={(value) => setPrefs({ language: value })}
      />
      <MenuLine />
      <MenuItem icon="keys" hint="?" onSelect={onHelp}>
        {t('Keyboard shortcuts')}
      </MenuItem>
      {getToken() && (
        <MenuItem icon="signOut" onSelect={signOut}>
          {t('Sign out')}
        </MenuItem>
      )}
    </Menu>
  )
}
