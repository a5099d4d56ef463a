/** Tenants, and what share of the work each gets while others wait. */
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'

import { useAct } from '@/api/actions'
import { call } from '@/api/client'
import { tenantsQuery } from '@/api/people'
import type { Tenant } from '@/api/types'
import { useT } from '@/i18n'
import { Button, FIELD, Input, Panel, Skeleton } from '@/parts/basics'
import { Time } from '@/parts/clock'
import { Failed } from '@/parts/feedback'
import { Meter } from '@/parts/meter'
import { Table } from '@/parts/table'

import { isDenied, NotForYou } from './denied'

export function Tenants() {
  const t = useT()
  const act = useAct()
  const [name, setName] = useState('')
  const tenants = useQuery(tenantsQuery)
  if (isDenied(tenants.error)) return <NotForYou />
  if (tenants.error && !tenants.data) return <Failed error={tenants.error} retry={() => void tenants.refetch()} />
  if (!tenants.data) return <Skeleton />
  const items = tenants.data.items
  const sum = items.reduce((all, one) => all + one.weight, 0)
  const add = async () => {
    if (await act(call('tenants', { body: { name: name.trim() } }), t('Tenant added'), 'tenants')) setName('')
  }
  return (
    <Panel title={t('Tenants')}>
      <form
        className="flex gap-2 px-3 py-2"
        onSubmit={(event) => {
          event.preventDefault()
          void add()
        }}
      >
        <Input aria-label={t('Name')} placeholder={t('Name')} required className="max-w-64" value={name} onChange={(event) => setName(event.target.value)} />
        <Button type="submit" icon="add" className="!h-8">
          {t('Add a tenant')}
        </Button>
      </form>
      <Table
        label={t('Tenants')}
        rows={items}
        keyOf={(one) => one.name}
        rowProps={(one) => ({ 'data-tenant': one.name })}
        columns={[
          { head: t('Tenant'), cell: (one) => <span className="font-medium">{one.name}</span> },
          { head: t('Description'), wide: true, grows: true, cell: (one) => <span className="text-soft">{one.description}</span> },
          { head: t('Share'), cell: (one) => <Meter label={one.name} value={one.weight} max={sum} part /> },
          { head: t('Weight'), cell: (one) => <Weight tenant={one} /> },
          { head: t('Made'), wide: true, cell: (one) => <Time at={one.createdAt} /> },
        ]}
      />
    </Panel>
  )
}

function Weight({ tenant }: { tenant: Tenant }) {
  const t = useT()
  const act = useAct()
  const save = (text: string) => {
    const weight = Number(text)
    if (!Number.isInteger(weight) || weight < 1 || weight === tenant.weight) return
    void act(call(`tenants/${encodeURIComponent(tenant.name)}`, { method: 'PATCH', body: { weight } }), t('Weight set'), 'tenants')
  }
  return (
    <input
      type="number"
      min={1}
      aria-label={t('Weight of {what}', { what: tenant.name })}
      defaultValue={tenant.weight}
      onBlur={(event) => save(event.target.value)}
      onKeyDown={(event) => event.key === 'Enter' && save(event.currentTarget.value)}
      className={`${FIELD} !h-6 w-20 tabular-nums`}
    />
  )
}
