/** Workers: who is there, how each does, what it holds and has, who has not been heard of. */
import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useRef } from 'react'

import { workersQuery } from '@/api/queries'
import type { Worker } from '@/api/types'
import { stateWord, useT } from '@/i18n'
import { Button, FIELD, PageHead, Panel, Skeleton } from '@/parts/basics'
import { Ago } from '@/parts/clock'
import { Empty, Failed } from '@/parts/feedback'
import { Status } from '@/parts/status'
import { useTitle } from '@/parts/title'
import { useKeys } from '@/shell/keys'
import { WorkerDetail } from '@/worker/detail'
import { Gauges } from '@/worker/gauges'
import { inOrder, matching, type Wanted } from '@/worker/health'

const route = getRouteApi('/workers')
const STATES = ['online', 'draining', 'late', 'registered', 'offline']

export function WorkersPage() {
  const t = useT()
  useTitle(t('Workers'))
  const search = route.useSearch()
  const navigate = route.useNavigate()
  const workers = useQuery(workersQuery)
  const all = inOrder(workers.data?.items ?? [])
  const wanted: Wanted = { q: search.q ?? '', state: search.state ?? '', way: search.way ?? '', package: search.package ?? '' }
  const items = matching(all, wanted)
  const shown = all.find((worker) => worker.id === search.id)
  const at = items.findIndex((worker) => worker.id === search.id)
  const choose = (id: string | undefined) => void navigate({ search: (old) => ({ ...old, id }), replace: true })
  useKeys({
    j: () => choose(items[Math.min(items.length - 1, at + 1)]?.id),
    k: () => choose(items[Math.max(0, at - 1)]?.id),
    Escape: () => choose(undefined),
  })
  const count = (state: string) => all.filter((worker) => worker.state === state && !isServer(worker)).length
  const url = new URL('.', document.baseURI).href
  const commands = `windlass worker my_module:worker --server ${url}\nwindlass worker packages --transport link --server ${url}`
  return (
    <>
      <PageHead title={t('Workers')}>
        <span className="text-sm text-soft">
          {t('{online} online · {late} late', { online: count('online'), late: count('late') })}
        </span>
      </PageHead>
      {workers.error && !workers.data && <Failed error={workers.error} retry={() => void workers.refetch()} />}
      {workers.isPending && !workers.error && <Skeleton />}
      {workers.data && all.length === 0 && <Empty title={t('No worker has connected yet. Start one:')} command={commands} />}
      {all.length > 0 && <Filters all={all} wanted={wanted} />}
      {all.length > 0 && items.length === 0 && (
        <Empty title={t('No worker fits the filter.')}>
          <Button onClick={() => void navigate({ search: {} })}>{t('Clear the filter')}</Button>
        </Empty>
      )}
      <div className={`grid grid-cols-[minmax(0,1fr)] items-start gap-4 ${shown ? 'xl:grid-cols-[minmax(0,1fr)_30rem]' : ''}`}>
        {items.length > 0 && <Table items={items} shown={shown?.id} slim={!!shown} onChoose={choose} />}
        {shown && <WorkerDetail key={shown.id} worker={shown} onClose={() => choose(undefined)} />}
      </div>
    </>
  )
}

/** Servers keep a row here, but take no work from others: they are not counted, as on the overview. */
function isServer(worker: Worker): boolean {
  return worker.transport === 'control' || worker.transport === 'api'
}

function Filters({ all, wanted }: { all: readonly Worker[]; wanted: Wanted }) {
  const t = useT()
  const navigate = route.useNavigate()
  const input = useRef<HTMLInputElement>(null)
  useKeys({ '/': () => input.current?.focus() })
  const set = (change: Partial<Wanted>) =>
    void navigate({
      search: (old) => ({ ...old, ...Object.fromEntries(Object.entries(change).map(([key, value]) => [key, value || undefined])) }),
      replace: true,
    })
  const ways = [...new Set(all.map((worker) => worker.transport))].sort()
  const packages = [...new Set(all.flatMap((worker) => (worker.packages ?? []).map((one) => one.name)))].sort()
  const select = (key: keyof Wanted, label: string, choices: readonly string[], word = (one: string) => one) => (
    <select aria-label={label} className={`${FIELD} w-36`} value={wanted[key]} onChange={(event) => set({ [key]: event.target.value })}>
      <option value="">
        {label}: {t('All')}
      </option>
      {choices.map((one) => (
        <option key={one} value={one}>
          {word(one)}
        </option>
      ))}
    </select>
  )
  return (
    <div role="search" className="mb-3 flex flex-wrap gap-2">
      <input
        ref={input}
        type="search"
        aria-label={t('Find a worker')}
        placeholder={t('Find a worker')}
        value={wanted.q}
        onChange={(event) => set({ q: event.target.value })}
        className={`${FIELD} w-56`}
      />
      {select('state', t('Status'), STATES, (one) => stateWord(t, one))}
      {select('way', t('Transport'), ways)}
      {packages.length > 0 && select('package', t('Package'), packages)}
    </div>
  )
}

interface TableProps {
  items: readonly Worker[]
  shown?: string
  slim: boolean
  onChoose: (id: string) => void
}

function Table({ items, shown, slim, onChoose }: TableProps) {
  const t = useT()
  const wide = 'hidden md:table-cell'
  const heads: [string, string][] = [
    [t('Worker'), ''],
    [t('Status'), wide],
    [t('Health'), ''],
    [t('Transport'), wide],
    ...(slim ? [] : [[t('Offers'), wide] as [string, string]]),
    [t('Last seen'), wide],
  ]
  return (
    <Panel>
      <div className="overflow-x-auto" tabIndex={0}>
        <table className="w-full text-sm">
          <thead className="text-left text-xs text-soft">
            <tr>
              {heads.map(([head, look]) => (
                <th key={head} className={`px-3 py-2 font-semibold whitespace-nowrap ${look}`}>
                  {head}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {items.map((worker) => (
              <Row key={worker.id} worker={worker} shown={worker.id === shown} slim={slim} onChoose={onChoose} />
            ))}
          </tbody>
        </table>
      </div>
    </Panel>
  )
}

function Row({ worker, shown, slim, onChoose }: { worker: Worker; shown: boolean; slim: boolean; onChoose: (id: string) => void }) {
  const offers = worker.packages?.length ? worker.packages.map((one) => `${one.name}@${one.version}`) : worker.services
  return (
    <tr data-worker={worker.id} data-state={worker.state} className={`border-t border-line align-top ${shown ? 'bg-accent-soft' : ''}`}>
      <td className="px-3 py-2 font-medium whitespace-nowrap">
        <button type="button" aria-expanded={shown} onClick={() => onChoose(worker.id)} className="text-accent hover:underline">
          {worker.id}
        </button>
        {worker.hostname && <span className="block text-xs font-normal text-soft">{worker.hostname}</span>}
        <span className="mt-1 block font-normal md:hidden">
          <Status state={worker.state} /> <span className="block text-xs text-soft">{worker.transport} · <Ago at={worker.seenAt} /></span>
        </span>
      </td>
      <td className="hidden px-3 py-2 md:table-cell">
        <Status state={worker.state} />
      </td>
      <td className="min-w-44 px-3 py-2">
        <Gauges worker={worker} />
      </td>
      <td className="hidden px-3 py-2 whitespace-nowrap md:table-cell">
        {worker.transport}
        {worker.url && <span className="hidden max-w-40 truncate text-xs text-soft xl:block" title={worker.url}>{worker.url}</span>}
      </td>
      {!slim && (
        <td className="hidden px-3 py-2 md:table-cell">
          <span className="flex max-w-md flex-wrap gap-1">
            {offers.map((one) => (
              <span key={one} className="rounded bg-sunk px-1.5 font-mono text-xs">
                {one}
              </span>
            ))}
          </span>
        </td>
      )}
      <td className="hidden px-3 py-2 md:table-cell">
        <Ago at={worker.seenAt} />
      </td>
    </tr>
  )
}
