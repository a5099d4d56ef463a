/** Resources with what of them is leased, and the runtimes that are missing. */
import { Link } from '@tanstack/react-router'

import type { EnvKind, EnvResource } from '@/api/types'
import { useT } from '@/i18n'
import { Chip, Panel } from '@/parts/basics'
import { Empty } from '@/parts/feedback'
import { Icon } from '@/parts/icons'
import { Meter, Slots } from '@/parts/meter'
import { Status } from '@/parts/status'
import { Table } from '@/parts/table'
import { sayReason } from '@/why/say'

import { firstCommand, missingKinds } from './places'

const SLOTS_MAX = 24

/** What cannot be made here and how that is changed. */
export function MissingKinds({ kinds, resources }: { kinds: readonly EnvKind[]; resources: readonly EnvResource[] }) {
  const t = useT()
  const missing = missingKinds(kinds, resources)
  if (missing.length === 0) return null
  return (
    <ul aria-label={t('Runtimes that are missing')} className="mb-4 grid gap-2 text-sm">
      {missing.map((one) => {
        const needed = one.resources.length > 0
        return (
          <li key={one.kind} data-missing={one.kind} className={`flex items-start gap-2 rounded-lg p-3 ${needed ? 'bg-wait-soft' : 'bg-sunk'}`}>
            <Icon name={needed ? 'warning' : 'hint'} className={`mt-0.5 ${needed ? 'text-wait' : 'text-accent'}`} />
            <span className="min-w-0 wrap-anywhere">
              <span className="block first-letter:uppercase">{(one.lacks && sayReason(one.lacks, Date.now())) || one.text}</span>
              {needed && <span className="block text-wait">{t('Wanted by {names}', { names: one.resources.join(', ') })}</span>}
            </span>
          </li>
        )
      })}
    </ul>
  )
}

export function Resources({ resources, held }: { resources: readonly EnvResource[]; held: ReadonlyMap<string, number> }) {
  const t = useT()
  return (
    <Panel title={t('Resources')}>
      <Table
        label={t('Resources')}
        rows={resources}
        keyOf={(one) => one.id}
        rowProps={(one) => ({ 'data-resource': one.name })}
        columns={[
          {
            head: t('Name'),
            cell: (one) => (
              <Link to="/environments" search={{ resource: one.name }} className="font-mono text-accent hover:underline">
                {one.name}
              </Link>
            ),
          },
          { head: t('Kind'), wide: true, cell: (one) => <Chip>{one.kind}</Chip> },
          { head: t('Leased'), cell: (one) => <Leased resource={one} held={held.get(one.name) ?? 0} /> },
          { head: t('Waiting'), number: true, cell: (one) => <Waiting resource={one} /> },
          { head: t('Status'), wide: true, cell: (one) => <Status state={one.status} /> },
          { head: t('What a place is like'), wide: true, grows: true, cell: (one) => <span className="font-mono text-xs text-soft">{configText(one.config)}</span> },
        ]}
      />
    </Panel>
  )
}

function configText(config: object): string {
  return Object.keys(config).length > 0 ? JSON.stringify(config) : '–'
}

/** How many of its places are leased, and of those how many only wait for a person or a look. */
function Leased({ resource, held }: { resource: EnvResource; held: number }) {
  const t = useT()
  const { inUse, capacity, waiting } = resource
  return (
    <span className="flex items-center gap-2">
      <span className="tabular-nums">{`${inUse} / ${capacity}`}</span>
      {capacity <= SLOTS_MAX ? <Slots used={inUse} max={capacity} held={Math.min(held, inUse)} waiting={waiting} /> : <Meter label={resource.name} value={inUse} max={capacity} />}
      {held > 0 && <span className="text-xs text-wait">{t('{n} held', { n: held })}</span>}
    </span>
  )
}

function Waiting({ resource }: { resource: EnvResource }) {
  if (resource.waiting === 0) return <span className="text-soft">0</span>
  return <span className="font-semibold text-wait">{resource.waiting}</span>
}

/** No resource yet: how to make the first one with what is at hand. */
export function NoResources({ kinds }: { kinds: readonly EnvKind[] }) {
  const t = useT()
  const command = firstCommand(kinds)
  if (command) return <Empty icon="environments" title={t('No resource yet. A resource says what its places are like and how many there may be at once. Make one:')} command={command} />
  return <Empty icon="environments" title={t('This server has no runtime that makes places. To try without one:')} command="windlass dev --env-noop" />
}
