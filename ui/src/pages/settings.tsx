/** Settings: how the UI looks in this browser, and who may do what on the server. */
import { getRouteApi } from '@tanstack/react-router'

import { getToken, signOut } from '@/api/client'
import { useT } from '@/i18n'
import { Button, Choices, PageHead } from '@/parts/basics'
import { Icon, type IconName } from '@/parts/icons'
import { useTitle } from '@/parts/title'
import { AuditTrail } from '@/settings/audit'
import { Looks, ServerFacts } from '@/settings/browser'
import { Tenants } from '@/settings/tenants'
import { Tokens } from '@/settings/tokens'
import { Users } from '@/settings/users'

const route = getRouteApi('/settings')
const TABS = ['general', 'tokens', 'users', 'tenants', 'audit'] as const
type Tab = (typeof TABS)[number]
const ICONS: Record<Tab, IconName> = { general: 'settings', tokens: 'tokens', users: 'users', tenants: 'tenants', audit: 'audit' }

export function SettingsPage() {
  const t = useT()
  useTitle(t('Settings'))
  const search = route.useSearch()
  const navigate = route.useNavigate()
  const tab = TABS.find((one) => one === search.tab) ?? 'general'
  const names: Record<Tab, string> = { general: t('General'), tokens: t('Tokens'), users: t('Users'), tenants: t('Tenants'), audit: t('Audit trail') }
  const choices = TABS.map((id) => ({
    id,
    text: (
      <>
        <Icon name={ICONS[id]} size={14} />
        {names[id]}
      </>
    ),
  }))
  return (
    <>
      <PageHead title={t('Settings')}>
        {getToken() && (
          <Button icon="signOut" onClick={signOut}>
            {t('Sign out')}
          </Button>
        )}
      </PageHead>
      <div className="mb-4">
        <Choices label={t('Settings')} value={tab} choices={choices} onChange={(id) => void navigate({ search: { tab: id } })} />
      </div>
      {tab === 'general' && (
        <div className="grid items-start gap-x-4 xl:grid-cols-2">
          <Looks />
          <ServerFacts />
        </div>
      )}
      {tab === 'tokens' && <Tokens />}
      {tab === 'users' && <Users />}
      {tab === 'tenants' && <Tenants />}
      {tab === 'audit' && <AuditTrail />}
    </>
  )
}
