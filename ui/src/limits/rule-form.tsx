/** What a key allows, changed by hand: it counts from now on, over all servers. */
import { useState } from 'react'

import { useAct } from '@/api/actions'
import { setLimitRule } from '@/api/limits'
import type { LimitRuleBody } from '@/api/types'
import { useT } from '@/i18n'
import { Button, Field, Input } from '@/parts/basics'
import { Dialog } from '@/parts/dialog'

export interface RuleStart {
  pattern: string
  max?: number | null
  rate?: number | null
  perS?: number
  budget?: number | null
  tripAfter?: number | null
  resetS?: number
}

const text = (value: number | null | undefined) => (value === null || value === undefined ? '' : String(value))
const number = (value: string) => (value.trim() === '' ? null : Number(value))

export function RuleForm({ start, onClose }: { start: RuleStart; onClose: () => void }) {
  const t = useT()
  const act = useAct()
  const [pattern, setPattern] = useState(start.pattern)
  const [max, setMax] = useState(text(start.max))
  const [rate, setRate] = useState(text(start.rate || null))
  const [perS, setPerS] = useState(text(start.perS ?? 1))
  const [budget, setBudget] = useState(text(start.budget))
  const [trip, setTrip] = useState(text(start.tripAfter))
  const [reset, setReset] = useState(text(start.resetS || 30))
  const isBudget = pattern.startsWith('budget:')
  const isService = pattern.startsWith('service:')
  const isQuota = pattern.startsWith('quota:')
  const save = async () => {
    const body: Partial<LimitRuleBody> & { pattern: string } = { pattern: pattern.trim(), perS: number(perS) ?? 1 }
    if (isBudget) body.budget = number(budget)
    else {
      body.max = number(max)
      if (!isQuota) body.rate = number(rate)
      if (isService && trip.trim()) Object.assign(body, { tripAfter: number(trip), resetS: number(reset) ?? 30 })
    }
    if (await act(setLimitRule(body), t('Rule set'), 'limits', 'limit-rules', 'why')) onClose()
  }
  const field = (label: string, value: string, set: (value: string) => void, hint?: string) => (
    <Field label={label} hint={hint}>
      {(id) => <Input id={id} type="number" min={0} step="any" value={value} onChange={(event) => set(event.target.value)} />}
    </Field>
  )
  return (
    <Dialog title={start.pattern ? t('Change the limit') : t('New rule')} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          void save()
        }}
      >
        <Field label={t('Key')} hint={t('A key, or its beginning and *; service:NAME, tenant and budget:tokens are for all of those, quota:runs@PROJECT is what a project may have.')}>
          {(id) => <Input id={id} required className="font-mono" placeholder="bank:*" value={pattern} onChange={(event) => setPattern(event.target.value)} />}
        </Field>
        {isBudget ? (
          field(t('Budget'), budget, setBudget, t('What may be used up in all.'))
        ) : (
          <div className="grid grid-cols-2 gap-x-3 sm:grid-cols-3">
            {field(t('At once'), max, setMax, t('0 hands out nothing.'))}
            {!isQuota && field(t('Rate'), rate, setRate)}
            {!isQuota && field(t('Per seconds'), perS, setPerS)}
            {isService && field(t('Trips after'), trip, setTrip, t('Failures in a row.'))}
            {isService && field(t('Tries again after (s)'), reset, setReset)}
          </div>
        )}
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>{t('Back')}</Button>
          <Button type="submit" look="main">
            {t('Set rule')}
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
