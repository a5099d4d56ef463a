/** One worker: what it is, holds and has, and what it can be told. */
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useEffect, useRef, useState } from 'react'

import { type Command, tellWorker, useAct } from '@/api/actions'
import { packagesQuery } from '@/api/queries'
import type { Worker } from '@/api/types'
import { useT } from '@/i18n'
import { Button, FIELD, IconButton } from '@/parts/basics'
import { Ago, Time } from '@/parts/clock'
import { Confirm } from '@/parts/dialog'
import { formatBytes } from '@/parts/size'
import { Status } from '@/parts/status'
import { useCanAct, useMayAct } from '@/shell/health'
import { formatSpan } from '@/time/format'

import { Gauges } from './gauges'
import { healthOf } from './health'

export function WorkerDetail({ worker, onClose }: { worker: Worker; onClose: () => void }) {
  const t = useT()
  const aside = useRef<HTMLElement>(null)
  useEffect(() => {
    if (innerWidth < 1280) aside.current?.scrollIntoView({ block: 'start' })
  }, [])
  return (
    <aside ref={aside} aria-label={t('Worker')} className="min-w-0 rounded-lg border border-line bg-panel">
      <header className="flex flex-wrap items-center gap-2 border-b border-line p-3">
        <h2 className="mr-auto min-w-0 truncate font-semibold">{worker.id}</h2>
        <Status state={worker.state} />
        <IconButton icon="close" label={t('Close')} onClick={onClose} />
      </header>
      {worker.transport === 'link' && <Orders worker={worker} />}
      <Facts worker={worker} />
      {worker.transport === 'link' && <Packages worker={worker} />}
      <Holding worker={worker} />
    </aside>
  )
}

function Orders({ worker }: { worker: Worker }) {
  const t = useT()
  const act = useAct()
  const canAct = useCanAct() && worker.state !== 'offline'
  const mayAct = useMayAct()
  const [ask, setAsk] = useState<'drain' | 'rebind' | null>(null)
  if (!mayAct) return null
  const tell = (command: Command) => {
    setAsk(null)
    void act(tellWorker(worker.id, command), t('Told {worker}', { worker: worker.id }), 'workers')
  }
  return (
    <div className="flex flex-wrap gap-1.5 border-b border-line p-3">
      {worker.state === 'draining' ? (
        <Button icon="start_run" look="main" disabled={!canAct} onClick={() => tell({ type: 'undrain' })}>
          {t('Take work again')}
        </Button>
      ) : (
        <Button icon="waiting" disabled={!canAct} onClick={() => setAsk('drain')}>
          {t('Drain')}
        </Button>
      )}
      <Button icon="move" disabled={!canAct} onClick={() => setAsk('rebind')}>
        {t('Move its runs')}
      </Button>
      {ask === 'drain' && (
        <Confirm title={`${t('Drain')}: ${worker.id}`} action={t('Drain')} onClose={() => setAsk(null)} onConfirm={() => tell({ type: 'drain' })}>
          {t('It ends what it has and gets nothing new, until it is told to take work again.')}
        </Confirm>
      )}
      {ask === 'rebind' && (
        <Confirm title={`${t('Move its runs')}: ${worker.id}`} action={t('Move its runs')} onClose={() => setAsk(null)} onConfirm={() => tell({ type: 'rebind' })}>
          {t('Runs that are bound to it go on wherever they can; what runs here ends here.')}
        </Confirm>
      )}
    </div>
  )
}

function Facts({ worker }: { worker: Worker }) {
  const t = useT()
  const health = healthOf(worker)
  const facts: [string, React.ReactNode][] = [
    [t('Last seen'), <Ago key="seen" at={worker.seenAt} />],
    [t('Since'), <Time key="since" at={worker.registeredAt} />],
    [t('Transport'), worker.transport],
    [t('Holds'), `${worker.held}${worker.capacity > 0 ? ` / ${worker.capacity}` : ''}`],
  ]
  if (worker.hostname) facts.push([t('Machine'), `${worker.hostname}${worker.tenant ? ` · ${worker.tenant}` : ''}`])
  if (worker.version) facts.push([t('Version'), worker.version])
  if (health.uptimeS !== null) facts.push([t('Runs for'), formatSpan(health.uptimeS * 1000)])
  if (health.rssBytes !== null) facts.push([t('Its memory'), formatBytes(health.rssBytes)])
  return (
    <div className="border-b border-line p-3">
      <Gauges worker={worker} />
      <dl className="mt-3 grid grid-cols-[auto_minmax(0,1fr)] gap-x-4 gap-y-1 text-sm">
        {facts.map(([name, value]) => (
          <div key={name} className="contents">
            <dt className="text-soft">{name}</dt>
            <dd className="break-words">{value}</dd>
          </div>
        ))}
        {worker.services.length > 0 && worker.transport !== 'link' && (
          <>
            <dt className="text-soft">{t('Services')}</dt>
            <dd className="flex flex-wrap gap-1">
              {worker.services.map((one) => (
                <span key={one} className="rounded bg-sunk px-1.5 font-mono text-xs">
                  {one}
                </span>
              ))}
            </dd>
          </>
        )}
      </dl>
    </div>
  )
}

function Packages({ worker }: { worker: Worker }) {
  const t = useT()
  const act = useAct()
  const canAct = useCanAct() && worker.state !== 'offline'
  const mayAct = useMayAct()
  const own = worker.packages ?? []
  const tell = (type: 'pkg.install' | 'pkg.uninstall', name: string, version: string) =>
    void act(tellWorker(worker.id, { type, name, version }), t('Told {worker}', { worker: worker.id }), 'workers')
  return (
    <section className="border-b border-line p-3">
      <h3 className="mb-2 text-sm font-semibold">{t('Packages')}</h3>
      {own.length === 0 && <p className="mb-2 text-sm text-soft">{t('None yet; one is installed when a task needs it.')}</p>}
      <ul className="mb-2">
        {own.map((one) => (
          <li key={`${one.name}@${one.version}`} data-has={`${one.name}@${one.version}`} className="flex flex-wrap items-center gap-2 py-1 text-sm">
            <Link to="/packages/$name" params={{ name: one.name }} search={{ version: one.version }} className="font-mono text-accent hover:underline">
              {one.name}@{one.version}
            </Link>
            <span className="mr-auto">
              <Status state={one.status} plain />
            </span>
            {mayAct && (
              <Button disabled={!canAct} aria-label={t('Remove {what}', { what: `${one.name} ${one.version}` })} onClick={() => tell('pkg.uninstall', one.name, one.version)}>
                {t('Remove')}
              </Button>
            )}
          </li>
        ))}
      </ul>
      {mayAct && <InstallForm disabled={!canAct} onInstall={(name, version) => tell('pkg.install', name, version)} />}
    </section>
  )
}

function InstallForm({ disabled, onInstall }: { disabled: boolean; onInstall: (name: string, version: string) => void }) {
  const t = useT()
  const packages = useQuery(packagesQuery(''))
  const [picked, setPicked] = useState('')
  const choices = (packages.data?.items ?? []).flatMap((one) => one.versions.map((version) => `${one.name}@${version}`))
  const value = choices.includes(picked) ? picked : (choices[0] ?? '')
  if (choices.length === 0) return null
  return (
    <form
      className="flex gap-2"
      onSubmit={(event) => {
        event.preventDefault()
        const at = value.lastIndexOf('@')
        onInstall(value.slice(0, at), value.slice(at + 1))
      }}
    >
      <select aria-label={t('Package')} className={`${FIELD} min-w-0 flex-1`} value={value} onChange={(event) => setPicked(event.target.value)}>
        {choices.map((one) => (
          <option key={one}>{one}</option>
        ))}
      </select>
      <Button type="submit" disabled={disabled}>
        {t('Install')}
      </Button>
    </form>
  )
}

/** What it works on now; a task's id begins with its run's. */
function Holding({ worker }: { worker: Worker }) {
  const t = useT()
  const { held } = healthOf(worker)
  if (worker.transport !== 'link') return null
  return (
    <section className="p-3">
      <h3 className="mb-2 text-sm font-semibold">
        {t('Holding')} ({held.length})
      </h3>
      {held.length === 0 && <p className="text-sm text-soft">{t('Nothing at its last heartbeat.')}</p>}
      <ul className="max-h-60 overflow-auto text-xs" tabIndex={held.length ? 0 : undefined}>
        {held.map((id) => {
          const run = id.split('~')[0] ?? ''
          const task = id.includes('@') ? id.slice(0, id.lastIndexOf('@')) : id
          return (
            <li key={id} className="truncate py-0.5 font-mono" title={id}>
              {run && run !== id ? (
                <Link to="/runs/$id" params={{ id: run }} search={{ task }} className="text-accent hover:underline">
                  {id.slice(0, 8)}…{id.slice(run.length)}
                </Link>
              ) : (
                id
              )}
            </li>
          )
        })}
      </ul>
    </section>
  )
}
