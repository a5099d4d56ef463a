/** Limits, quotas, budgets and breakers: what is in use, how many wait, and the rules. */
import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { useState } from 'react'

import { useAct } from '@/api/actions'
import { limitRulesQuery, limitsQuery, removeLimitRule } from '@/api/limits'
import type { Limit, LimitRule } from '@/api/types'
import { stateWord, useT } from '@/i18n'
import { isQuota, Quotas } from '@/limits/quotas'
import { RuleForm, type RuleStart } from '@/limits/rule-form'
import { Button, Chip, FIELD, IconButton, PageHead, Panel, Skeleton } from '@/parts/basics'
import { Ago, Time } from '@/parts/clock'
import { CopyAs } from '@/parts/copy'
import { Empty, Failed } from '@/parts/feedback'
import { Meter, Slots } from '@/parts/meter'
import { Status } from '@/parts/status'
import { Table } from '@/parts/table'
import { useTitle } from '@/parts/title'
import { useCanAct, useMayAct } from '@/shell/health'

const route = getRouteApi('/limits')
const SLOTS_MAX = 24
const RUN = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

export function LimitsPage() {
  const t = useT()
  useTitle(t('Limits'))
  const { q = '' } = route.useSearch()
  const navigate = route.useNavigate()
  const canAct = useCanAct()
  const mayAct = useMayAct()
  const [edited, setEdited] = useState<RuleStart | null>(null)
  const read = useQuery(limitsQuery(q))
  const items = read.data?.items ?? []
  const edit = mayAct ? setEdited : undefined
  return (
    <>
      <PageHead title={t('Limits')}>
        <input
          type="search"
          aria-label={t('Keys that begin with')}
          placeholder={t('Keys that begin with')}
          value={q}
          onChange={(event) => void navigate({ search: { q: event.target.value || undefined }, replace: true })}
          className={`${FIELD} w-52`}
        />
        <CopyAs cli="windlass limit ls" path="limits" />
        {mayAct && (
          <Button look="main" icon="add" disabled={!canAct} onClick={() => setEdited({ pattern: '' })}>
            {t('New rule')}
          </Button>
        )}
      </PageHead>
      {read.error && !read.data && <Failed error={read.error} retry={() => void read.refetch()} />}
      {read.isPending && !read.error && <Skeleton />}
      {read.data && items.length === 0 && (
        <Empty
          icon="limits"
          title={q ? t('No key in use begins with {q}.', { q }) : t('No limit is in use. Flows name keys under `limits`, or set a rule for a service:')}
          command={q ? undefined : 'windlass limit set service:charge --max 5 --rate 50'}
        />
      )}
      <Quotas items={items.filter(isQuota)} onEdit={edit} />
      <Keys title={t('In use')} items={items.filter((one) => !one.unit && !isQuota(one))} onEdit={edit} />
      <Budgets items={items.filter((one) => one.unit)} onEdit={edit} />
      <Rules onEdit={edit} />
      {edited && <RuleForm start={edited} onClose={() => setEdited(null)} />}
    </>
  )
}

interface ListProps {
  items: readonly Limit[]
  onEdit?: (start: RuleStart) => void
}

function Keys({ title, items, onEdit }: ListProps & { title: string }) {
  const t = useT()
  if (items.length === 0) return null
  return (
    <Panel title={title}>
      <Table
        label={title}
        rows={items}
        keyOf={(one) => one.key}
        rowProps={(one) => ({ 'data-limit': one.key })}
        columns={[
          { head: t('Key'), grows: true, cell: (one) => <Key text={one.key} /> },
          { head: t('At once'), cell: (one) => <Use limit={one} /> },
          { head: t('Waiting'), number: true, cell: (one) => <Waiting limit={one} /> },
          { head: t('Rate'), wide: true, cell: (one) => (one.rate ? `${one.rate} / ${one.perS === 1 ? '' : one.perS}s` : <Dash />) },
          { head: t('Next'), wide: true, cell: (one) => <Next limit={one} /> },
          { head: t('Breaker'), wide: true, cell: (one) => <Breaker limit={one} /> },
          { head: t('Said by'), wide: true, cell: (one) => (one.rule ? <Chip>{one.rule}</Chip> : <span className="text-soft">{t('definition')}</span>) },
          {
            head: '',
            cell: (one) =>
              onEdit && (
                <Button onClick={() => onEdit({ pattern: one.key, max: one.max, rate: one.rate, perS: one.perS })} aria-label={t('Change {what}', { what: one.key })}>
                  {t('Change')}
                </Button>
              ),
          },
        ]}
      />
    </Panel>
  )
}

function Key({ text }: { text: string }) {
  return (
    <span title={text} className="font-mono">
      {text}
    </span>
  )
}

/** A budget of a run is named by the run, which is one click away. */
function BudgetKey({ limit }: { limit: Limit }) {
  const t = useT()
  const run = RUN.exec(limit.key)?.[0]
  if (!run) return <Key text={limit.key} />
  return (
    <span title={limit.key}>
      {stateWord(t, limit.unit)}{' · '}
      <Link to="/runs/$id" params={{ id: run }} className="text-accent hover:underline">
        {t('Run')} <span className="font-mono text-xs">{run.slice(-6)}</span>
      </Link>
    </span>
  )
}

function Dash() {
  return <span className="text-soft">–</span>
}

function Use({ limit }: { limit: Limit }) {
  const text = `${limit.inUse} / ${limit.max ?? '∞'}`
  return (
    <span className="flex items-center gap-2">
      <span className="tabular-nums">{text}</span>
      {limit.max !== null && limit.max > 0 && limit.max <= SLOTS_MAX && <Slots used={limit.inUse} max={limit.max} />}
      {limit.max !== null && limit.max > SLOTS_MAX && <Meter label={limit.key} value={limit.inUse} max={limit.max} />}
    </span>
  )
}

/** How many wait; the runs that do are one click away. */
function Waiting({ limit }: { limit: Limit }) {
  if (limit.waiting === 0) return <span className="text-soft">0</span>
  return (
    <Link to="/runs" search={{ q: 'status:running,waiting' }} className="font-semibold text-wait hover:underline">
      {limit.waiting}
    </Link>
  )
}

function Next({ limit }: { limit: Limit }) {
  const t = useT()
  if (limit.pausedUntil) {
    return (
      <span className="text-wait">
        {t('paused until')} <Time at={limit.pausedUntil} />
      </span>
    )
  }
  return limit.nextAt && limit.waiting > 0 ? <Ago at={limit.nextAt} /> : <Dash />
}

function Breaker({ limit }: { limit: Limit }) {
  const t = useT()
  if (!limit.breaker) return <Dash />
  const state = limit.breaker === 'open' ? 'tripped' : limit.breaker === 'half_open' ? 'verifying' : 'not tripped'
  return (
    <span title={limit.failures ? t('{n} failures in a row', { n: limit.failures }) : undefined}>
      <Status state={state} />
    </span>
  )
}

function Budgets({ items, onEdit }: ListProps) {
  const t = useT()
  if (items.length === 0) return null
  const shown = (value: number) => value.toLocaleString(undefined, { maximumFractionDigits: 2 })
  return (
    <Panel title={t('Budgets')}>
      <Table
        label={t('Budgets')}
        rows={items}
        keyOf={(one) => one.key}
        rowProps={(one) => ({ 'data-limit': one.key })}
        columns={[
          { head: t('Key'), grows: true, cell: (one) => <BudgetKey limit={one} /> },
          { head: t('Used'), wide: true, cell: (one) => <Meter label={one.key} value={one.spent} reserved={one.reserved} max={one.budget} /> },
          { head: t('Spent'), number: true, cell: (one) => shown(one.spent) },
          { head: t('Reserved'), wide: true, number: true, cell: (one) => shown(one.reserved) },
          { head: t('Budget'), number: true, cell: (one) => (one.budget === null ? '∞' : shown(one.budget)) },
          { head: t('Waiting'), wide: true, number: true, cell: (one) => <Waiting limit={one} /> },
          {
            head: '',
            cell: (one) =>
              onEdit && (
                <Button onClick={() => onEdit({ pattern: one.key, budget: one.budget })} aria-label={t('Change {what}', { what: one.key })}>
                  {t('Change')}
                </Button>
              ),
          },
        ]}
      />
    </Panel>
  )
}

function Rules({ onEdit }: { onEdit?: (start: RuleStart) => void }) {
  const t = useT()
  const act = useAct()
  const canAct = useCanAct()
  const rules = useQuery(limitRulesQuery)
  const items = rules.data?.items ?? []
  if (items.length === 0) return null
  const says = (rule: LimitRule) =>
    [
      rule.max !== null && `${t('At once')} ${rule.max}`,
      rule.rate !== null && `${rule.rate} / ${rule.perS === 1 ? '' : rule.perS}s`,
      rule.budget !== null && `${t('Budget')} ${rule.budget}`,
      rule.tripAfter !== null && `${t('Trips after')} ${rule.tripAfter}`,
    ]
      .filter(Boolean)
      .join(' · ')
  return (
    <Panel title={t('Rules')}>
      <Table
        label={t('Rules')}
        rows={items}
        keyOf={(one) => one.pattern}
        rowProps={(one) => ({ 'data-rule': one.pattern })}
        columns={[
          { head: t('Key'), cell: (one) => <span className="font-mono">{one.pattern}</span> },
          { head: t('Allows'), grows: true, cell: says },
          { head: t('Changed'), wide: true, cell: (one) => <Ago at={one.changedAt} /> },
          { head: t('By'), wide: true, cell: (one) => one.changedBy || <Dash /> },
          {
            head: '',
            cell: (one) =>
              onEdit && (
                <span className="flex justify-end gap-1">
                  <Button onClick={() => onEdit(one)} aria-label={t('Change {what}', { what: one.pattern })}>
                    {t('Change')}
                  </Button>
                  <IconButton icon="remove" label={t('Remove {what}', { what: one.pattern })} disabled={!canAct} onClick={() => void act(removeLimitRule(one.pattern), t('Rule removed'), 'limits', 'limit-rules')} />
                </span>
              ),
          },
        ]}
      />
    </Panel>
  )
}
