/** Where an operator of the whole system looks and acts; nobody else sees this. */
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'

import { getTenant, setTenant } from '@/api/client'
import { tenantsQuery } from '@/api/people'
import { useT } from '@/i18n'
import { Button } from '@/parts/basics'
import { Menu, MenuChoices } from '@/parts/menu'

/** The one everybody belongs to who was given no other. */
const DEFAULT = 'default'

export function TenantSwitch() {
  const t = useT()
  const tenants = useQuery(tenantsQuery)
  const [now, setNow] = useState(getTenant)
  const names = [...new Set([DEFAULT, ...(tenants.data?.items.map((one) => one.name) ?? [])])]
  if (names.length < 2) return null
  const go = (name: string) => {
    const tenant = name === DEFAULT ? '' : name
    setTenant(tenant)
    setNow(tenant)
    // Everything on the page is another's now: read it all again, and follow the other stream.
    window.windlass.signedIn()
  }
  return (
    <span className="hidden md:inline">
      <Menu
        label={t('Tenant')}
        button={
          <Button look={now ? 'plain' : 'quiet'} icon="tenants">
            {t('Tenant')}: {now || DEFAULT}
          </Button>
        }
      >
        <MenuChoices label={t('Tenant')} value={now || DEFAULT} choices={names.map((id) => ({ id, text: id }))} onChange={go} />
      </Menu>
    </span>
  )
}
