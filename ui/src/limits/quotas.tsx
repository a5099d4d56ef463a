/** Quotas: what the tenant and its projects may have at once, and what they have. */
import { Link } from '@tanstack/react-router'

import type { Limit } from '@/api/types'
import { useT } from '@/i18n'
import type { RuleStart } from '@/limits/rule-form'
import { Button, Chip, Panel } from '@/parts/basics'
import { Meter } from '@/parts/meter'
import { Table } from '@/parts/table'

const PREFIX = 'quota:'
const UNITS: Record<string, string> = { memory: 'MiB', storage: 'MiB' }

export const isQuota = (limit: Limit) => limit.key.startsWith(PREFIX)

export function Quotas({ items, onEdit }: { items: readonly Limit[]; onEdit?: (start: RuleStart) => void }) {
  const t = useT()
  if (items.length === 0) return null
  return (
    <Panel title={t('Quotas')}>
      <Table
        label={t('Quotas')}
        rows={items}
        keyOf={(one) => one.key}
        rowProps={(one) => ({ 'data-limit': one.key })}
        columns={[
          { head: t('Quota'), cell: (one) => <span className="font-mono">{whatOf(one)}</span> },
          { head: t('Of'), wide: true, cell: (one) => (projectOf(one) ? <Chip>{projectOf(one)}</Chip> : <span className="text-soft">{t('tenant')}</span>) },
          { head: t('Used'), wide: true, cell: (one) => <Meter label={one.key} value={one.inUse} max={one.max} /> },
          { head: t('In use'), number: true, cell: (one) => shown(one, one.inUse) },
          { head: t('At most'), number: true, cell: (one) => (one.max === null ? '∞' : shown(one, one.max)) },
          { head: t('Waiting'), number: true, cell: (one) => <Waiting quota={one} /> },
          {
            head: '',
            cell: (one) =>
              onEdit && (
                <Button onClick={() => onEdit({ pattern: one.key, max: one.max })} aria-label={t('Change {what}', { what: one.key })}>
                  {t('Change')}
                </Button>
              ),
          },
        ]}
      />
    </Panel>
  )
}

const whatOf = (quota: Limit) => quota.key.slice(PREFIX.length).split('@')[0] ?? ''
const projectOf = (quota: Limit) => quota.key.split('@')[1] ?? ''

function shown(quota: Limit, amount: number) {
  const unit = UNITS[whatOf(quota)]
  const text = amount.toLocaleString(undefined, { maximumFractionDigits: 3 })
  return unit ? `${text} ${unit}` : text
}

/** How many wait for it; runs that have yet to begin are one click away. */
function Waiting({ quota }: { quota: Limit }) {
  if (quota.waiting === 0) return <span className="text-soft">0</span>
  const state = whatOf(quota) === 'runs' ? 'status:queued' : 'status:running,waiting'
  const q = projectOf(quota) ? `${state} project:${projectOf(quota)}` : state
  return (
    <Link to="/runs" search={{ q }} className="font-semibold text-wait hover:underline">
      {quota.waiting}
    </Link>
  )
}
