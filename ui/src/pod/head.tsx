/** Above the table of pods: which are meant, a square for each, and what is missing. */
import type { PodsWanted } from '@/api/pods'
import type { PodPage } from '@/api/types'
import { stateWord, useT } from '@/i18n'
import { Button, FIELD } from '@/parts/basics'
import { Command, Empty } from '@/parts/feedback'
import { Icon } from '@/parts/icons'
import { lookOf } from '@/parts/status'

import { countStates, type Namespace, POD_STATES } from './pods'

const SERVER = 'windlass server --kubeconfig ~/.kube/config'
const EXAMPLE = 'windlass flow push examples/pods/report.yaml && windlass run start report -p day=2026-11-16'

interface FilterProps {
  wanted: PodsWanted
  namespaces: readonly string[]
  onChange: (change: PodsWanted) => void
}

export function PodFilters({ wanted, namespaces, onChange }: FilterProps) {
  const t = useT()
  const names = [...new Set([...namespaces, ...(wanted.namespace ? [wanted.namespace] : [])])].sort()
  return (
    <div role="search" className="mb-3 flex flex-wrap items-center gap-1.5">
      <input
        type="search"
        aria-label={t('Find a pod')}
        placeholder={t('Run, flow, node or pod')}
        value={wanted.q ?? ''}
        onChange={(event) => onChange({ q: event.target.value || undefined })}
        className={`${FIELD} w-56`}
      />
      <select aria-label={t('Status')} className={`${FIELD} w-44`} value={wanted.state ?? ''} onChange={(event) => onChange({ state: event.target.value || undefined })}>
        <option value="">{t('Those that are not over')}</option>
        <option value="all">
          {t('Status')}: {t('All')}
        </option>
        {POD_STATES.map((one) => (
          <option key={one} value={one}>
            {stateWord(t, one === 'claimed' ? 'waiting' : one)}
          </option>
        ))}
      </select>
      <select aria-label={t('Namespace')} className={`${FIELD} w-44`} value={wanted.namespace ?? ''} onChange={(event) => onChange({ namespace: event.target.value || undefined })}>
        <option value="">
          {t('Namespace')}: {t('All')}
        </option>
        {names.map((one) => (
          <option key={one}>{one}</option>
        ))}
      </select>
    </div>
  )
}

/** A square for each pod that is listed, by namespace: what needs a look comes first. */
export function Squares({ namespaces, onChoose }: { namespaces: readonly Namespace[]; onChoose: (name: string) => void }) {
  const t = useT()
  return (
    <ul aria-label={t('Namespaces')} className="mb-4 flex flex-wrap gap-x-8 gap-y-3">
      {namespaces.map((one) => (
        <li key={one.name} data-namespace={one.name} className="min-w-0">
          <button type="button" className="mb-1 block max-w-full truncate text-sm font-medium hover:text-accent" onClick={() => onChoose(one.name)}>
            {one.name}
          </button>
          <span aria-hidden="true" className="flex max-w-md flex-wrap gap-0.5">
            {one.states.map((state, at) => (
              <span key={at} className="size-2.5 rounded-[2px]" style={{ background: `var(${lookOf(state).color})` }} />
            ))}
          </span>
          <span className="mt-1 block text-xs text-soft tabular-nums">
            {countStates(one.states)
              .map(([state, count]) => `${count} ${stateWord(t, state)}`)
              .join(' · ')}
          </span>
        </li>
      ))}
    </ul>
  )
}

/** That nobody makes pods though some are there or wanted; with nothing of either, the page itself says so. */
export function NoLauncher({ page, pods }: { page: PodPage; pods: number }) {
  const t = useT()
  if (page.launched || (pods === 0 && page.queued === 0)) return null
  return (
    <div role="status" data-no-launcher className="mb-4 flex items-start gap-2 rounded-lg bg-wait-soft p-3 text-sm">
      <Icon name="warning" className="mt-0.5 text-wait" />
      <span className="min-w-0 flex-1">
        <span className="block">{t('No server that is up launches pods.')}</span>
        {page.queued > 0 && <span className="block text-wait">{t('Tasks that wait for a pod: {n}', { n: page.queued })}</span>}
        {pods > 0 && (
          <span className="mt-2 block">
            <Command text={SERVER} />
          </span>
        )}
      </span>
    </div>
  )
}

export function NoPods({ page, filtered, onClear }: { page: PodPage; filtered: boolean; onClear: () => void }) {
  const t = useT()
  if (filtered) {
    return (
      <Empty icon="pods" title={t('No pod fits the filter.')}>
        <Button onClick={onClear}>{t('Clear the filter')}</Button>
      </Empty>
    )
  }
  if (!page.launched) return <Empty icon="pods" title={t('No server here knows a cluster to make pods in. Start one with the cluster’s kubeconfig:')} command={SERVER} />
  return <Empty icon="pods" title={t('No pod lives now. A node with `exec_type: pod` has one for each attempt. Try the example:')} command={EXAMPLE} />
}
