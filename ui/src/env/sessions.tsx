/** The sessions there are: a filter, and a line for each. */
import { Link } from '@tanstack/react-router'

import type { SessionsWanted } from '@/api/envs'
import type { EnvSession } from '@/api/types'
import { stateWord, useT } from '@/i18n'
import { Chip, FIELD } from '@/parts/basics'
import { Ago } from '@/parts/clock'
import { Status } from '@/parts/status'
import { Table } from '@/parts/table'

import { hasPlace, SESSION_STATES, taskName } from './places'

interface FilterProps {
  wanted: SessionsWanted
  resources: readonly string[]
  onChange: (change: SessionsWanted) => void
}

export function SessionFilters({ wanted, resources, onChange }: FilterProps) {
  const t = useT()
  const names = [...new Set([...resources, ...(wanted.resource ? [wanted.resource] : [])])].sort()
  return (
    <div role="search" className="mb-3 flex flex-wrap items-center gap-1.5">
      <select aria-label={t('Resource')} className={`${FIELD} w-44`} value={wanted.resource ?? ''} onChange={(event) => onChange({ resource: event.target.value || undefined })}>
        <option value="">
          {t('Resource')}: {t('All')}
        </option>
        {names.map((one) => (
          <option key={one}>{one}</option>
        ))}
      </select>
      <select aria-label={t('Status')} className={`${FIELD} w-52`} value={wanted.state ?? ''} onChange={(event) => onChange({ state: event.target.value || undefined })}>
        <option value="">{t('Those that are not over')}</option>
        <option value="all">
          {t('Status')}: {t('All')}
        </option>
        {SESSION_STATES.map((one) => (
          <option key={one} value={one}>
            {stateWord(t, one)}
          </option>
        ))}
      </select>
      {wanted.run && (
        <button
          type="button"
          aria-label={t('Remove {word}', { word: wanted.run })}
          onClick={() => onChange({ run: undefined })}
          className="inline-flex h-6 items-center gap-1.5 rounded bg-accent-soft px-2 text-sm font-medium text-accent"
        >
          {t('Run')} {wanted.run.slice(-6)} ×
        </button>
      )}
    </div>
  )
}

interface Props {
  sessions: readonly EnvSession[]
  shown?: string
  onChoose: (id: string) => void
}

export function Sessions({ sessions, shown, onChoose }: Props) {
  const t = useT()
  return (
    <Table
      label={t('Sessions')}
      rows={sessions}
      keyOf={(one) => one.id}
      rowProps={(one) => ({ 'data-session': one.id, className: one.id === shown ? 'bg-accent-soft' : '' })}
      columns={[
        {
          head: t('Resource'),
          cell: (one) => (
            <button type="button" aria-pressed={one.id === shown} className="font-medium text-accent hover:underline" onClick={() => onChoose(one.id)}>
              {one.resource}
            </button>
          ),
        },
        { head: t('Status'), cell: (one) => <Status state={one.state} /> },
        { head: t('Kind'), wide: true, cell: (one) => <Chip>{one.kind}</Chip> },
        {
          head: t('Run'),
          wide: true,
          cell: (one) => (
            <Link to="/runs/$id" params={{ id: one.runId }} className="font-mono text-xs hover:underline">
              {one.runId.slice(-6)}
            </Link>
          ),
        },
        {
          head: t('Task'),
          grows: true,
          cell: (one) => (
            <Link to="/runs/$id" params={{ id: one.runId }} search={{ task: one.taskId }} className="hover:underline">
              {taskName(one)}
            </Link>
          ),
        },
        { head: t('Host'), widest: true, cell: (one) => one.host || '–' },
        { head: t('Given back'), wide: true, cell: (one) => (one.expiresAt && hasPlace(one) ? <Ago at={one.expiresAt} /> : <span className="text-soft">–</span>) },
        { head: t('Made'), wide: true, cell: (one) => <Ago at={one.createdAt} /> },
      ]}
    />
  )
}
