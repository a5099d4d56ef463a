/** Beside the graph of a plan: its revisions with what each changed and why, its budget, and a word to it. */
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'

import { useAct } from '@/api/actions'
import { call } from '@/api/client'
import { limitsQuery } from '@/api/limits'
import { hasEnded, type Revision, type Run } from '@/api/types'
import { stateWord, useT } from '@/i18n'
import { Button, FIELD, TextArea } from '@/parts/basics'
import { Time } from '@/parts/clock'
import { Icon, type IconName } from '@/parts/icons'
import { Meter } from '@/parts/meter'
import { useNames } from '@/run/names'
import { useCanAct, useMayAct } from '@/shell/health'

import { type Step, stepsOf } from './revisions'

interface Props {
  run: Run
  revisions: readonly Revision[]
  /** The revision that is drawn. */
  shown: number
  onShow: (revision: number | undefined) => void
  /** A task's details stand beside it: where there is room for two, the graph has it. */
  aside: boolean
}

export function PlanRail({ run, revisions, shown, aside, onShow }: Props) {
  const t = useT()
  const steps = stepsOf(revisions)
  const newest = steps.at(-1)?.revision ?? 0
  return (
    <div role="region" tabIndex={0} aria-label={t('Plan')} className={`flex w-full shrink-0 flex-col overflow-y-auto border-line max-md:max-h-80 max-md:border-b md:w-64 md:border-r ${aside ? 'lg:max-xl:hidden' : ''}`}>
      <Goal run={run} />
      <Budget run={run} />
      <h2 className="px-3 pt-3 pb-1 text-xs font-medium text-soft">{t('Revisions')}</h2>
      <ol className="flex-1">
        {[...steps].reverse().map((step) => (
          <li key={step.revision}>
            <StepRow step={step} shown={step.revision === shown} onShow={() => onShow(step.revision === newest ? undefined : step.revision)} />
          </li>
        ))}
      </ol>
      {run.dialect === 'plan' && !hasEnded(run.state) && <HintBox run={run} />}
    </div>
  )
}

function Goal({ run }: { run: Run }) {
  if (!run.goal) return null
  return <p className="border-b border-line px-3 py-2.5 text-sm font-medium wrap-anywhere">{run.goal}</p>
}

function StepRow({ step, shown, onShow }: { step: Step; shown: boolean; onShow: () => void }) {
  const t = useT()
  const names = useNames()
  const reasons: Record<string, string> = { start: t('First plan'), replan: t('Made anew'), hint: t('After a hint') }
  const short = (path: string) => names.of(path)
  return (
    <button
      type="button"
      aria-pressed={shown}
      data-revision={step.revision}
      onClick={onShow}
      className={`block w-full border-t border-line px-3 py-2 text-left text-sm transition-colors ${shown ? 'bg-accent-soft' : 'hover:bg-sunk'}`}
    >
      <span className="flex items-baseline justify-between gap-2">
        <span className="font-semibold">{t('Revision {n}', { n: step.revision })}</span>
        <span className="text-xs text-soft">
          <Time at={step.at} />
        </span>
      </span>
      <span className="block truncate text-xs text-soft">
        {reasons[step.reason] ?? step.reason}
        {step.author.includes('~') && ` · ${t('asked by {who}', { who: aliasOf(step.author) })}`}
      </span>
      <Change icon="add" look="text-ok" text={t('added')} paths={step.added} name={short} />
      <Change icon="check" look="text-soft" text={t('kept')} paths={step.kept} name={short} />
      <Change icon="retry" look="text-run" text={t('redone')} paths={step.redone} name={short} />
      <Change icon="minus" look="text-halt line-through" text={t('superseded')} paths={step.superseded} name={short} />
    </button>
  )
}

/** A task of a plan by its alias: the last part of its id, without the visit. */
function aliasOf(task: string): string {
  return decodeURIComponent(task.slice(task.lastIndexOf('~') + 1)).replace(/\.\d+$/, '')
}

interface ChangeProps {
  icon: IconName
  look: string
  text: string
  paths: readonly string[]
  name: (path: string) => string
}

const NAMES_MAX = 8

function Change({ icon, look, text, paths, name }: ChangeProps) {
  if (paths.length === 0) return null
  const rest = paths.length - NAMES_MAX
  return (
    <span className="mt-0.5 flex items-start gap-1.5 text-xs">
      <Icon name={icon} size={12} className={`mt-0.5 ${look.replace('line-through', '')}`} />
      <span className="sr-only">{text}: </span>
      <span className={`min-w-0 wrap-anywhere ${look}`} title={text}>
        {paths.slice(0, NAMES_MAX).map(name).join(', ')}
        {rest > 0 && ` +${rest}`}
      </span>
    </span>
  )
}

/** What the run was given and has used of it. */
function Budget({ run }: { run: Run }) {
  const t = useT()
  const given = Object.keys(run.budget as Record<string, unknown>)
  const limits = useQuery({ ...limitsQuery('budget:'), enabled: given.length > 0 })
  const own = limits.data?.items.filter((one) => one.key.endsWith(`:${run.id}`)) ?? []
  if (own.length === 0) return null
  return (
    <section className="border-b border-line px-3 py-2">
      <h2 className="mb-1 text-xs font-medium text-soft">{t('Budget')}</h2>
      {own.map((one) => (
        <div key={one.key} className="mb-1.5 text-xs">
          <p className="mb-1 flex justify-between">
            <span>{stateWord(t, one.unit)}</span>
            <span className="tabular-nums">
              {one.spent.toLocaleString()} / {one.budget === null ? '∞' : one.budget.toLocaleString()}
            </span>
          </p>
          <Meter label={one.unit} value={one.spent} reserved={one.reserved} max={one.budget} />
        </div>
      ))}
    </section>
  )
}

function HintBox({ run }: { run: Run }) {
  const t = useT()
  const act = useAct()
  const canAct = useCanAct()
  const mayAct = useMayAct()
  const [kind, setKind] = useState('context_update')
  const [summary, setSummary] = useState('')
  if (!mayAct) return null
  const send = async () => {
    const note = summary.trim()
    const body = { kind, summary: note, details: kind === 'context_update' ? { note } : {} }
    if (await act(call(`runs/${encodeURIComponent(run.id)}/hints`, { body }), t('Hint sent'), 'run', 'why')) setSummary('')
  }
  return (
    <form
      className="grid gap-2 border-t border-line p-3"
      onSubmit={(event) => {
        event.preventDefault()
        void send()
      }}
    >
      <label className="text-xs font-medium text-soft" htmlFor="plan-hint">
        {t('Tell the plan')}
      </label>
      <TextArea id="plan-hint" rows={2} required value={summary} onChange={(event) => setSummary(event.target.value)} />
      <div className="flex gap-2">
        <select aria-label={t('Kind')} className={`${FIELD} !h-7 min-w-0 flex-1`} value={kind} onChange={(event) => setKind(event.target.value)}>
          <option value="context_update">{t('More to know')}</option>
          <option value="replan_request">{t('Plan anew')}</option>
        </select>
        <Button type="submit" icon="hint" disabled={!canAct || !summary.trim()}>
          {t('Send')}
        </Button>
      </div>
    </form>
  )
}
