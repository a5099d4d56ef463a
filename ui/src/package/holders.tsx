/** The workers on the link and which version of a package each has; install and remove it there. */
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'

import { tellWorker, useAct } from '@/api/actions'
import { workersQuery } from '@/api/queries'
import type { Worker } from '@/api/types'
import { useT } from '@/i18n'
import { Button, Panel } from '@/parts/basics'
import { Status } from '@/parts/status'
import { useCanAct, useMayAct } from '@/shell/health'

export function Holders({ name, version }: { name: string; version: string }) {
  const t = useT()
  const workers = useQuery(workersQuery)
  const items = (workers.data?.items ?? []).filter(
    (worker) => worker.transport === 'link' && (worker.state !== 'offline' || worker.packages?.some((one) => one.name === name)),
  )
  return (
    <Panel title={t('Workers that have it')}>
      {workers.data && items.length === 0 && <p className="p-3 text-sm text-soft">{t('No worker is on the link.')}</p>}
      <ul>
        {items.map((worker) => (
          <Holder key={worker.id} worker={worker} name={name} version={version} />
        ))}
      </ul>
    </Panel>
  )
}

function Holder({ worker, name, version }: { worker: Worker; name: string; version: string }) {
  const t = useT()
  const act = useAct()
  const canAct = useCanAct() && worker.state !== 'offline'
  const mayAct = useMayAct()
  const own = (worker.packages ?? []).filter((one) => one.name === name)
  const this_ = own.find((one) => one.version === version)
  const tell = (type: 'pkg.install' | 'pkg.uninstall') =>
    void act(tellWorker(worker.id, { type, name, version }), t('Told {worker}', { worker: worker.id }), 'workers')
  return (
    <li data-holder={worker.id} className="flex flex-wrap items-center gap-2 border-b border-line px-3 py-2 text-sm last:border-0">
      <Link to="/workers" search={{ id: worker.id }} className="text-accent hover:underline">
        {worker.id}
      </Link>
      <Status state={worker.state} plain />
      <span className="mr-auto flex flex-wrap gap-1">
        {own.map((one) => (
          <span key={one.version} className="inline-flex items-center gap-1 rounded bg-sunk px-1.5 font-mono text-xs">
            {one.version} <Status state={one.status} plain />
          </span>
        ))}
      </span>
      {mayAct &&
        (this_ && this_.status === 'installed' ? (
          <Button disabled={!canAct} aria-label={t('Remove {what}', { what: `${version} · ${worker.id}` })} onClick={() => tell('pkg.uninstall')}>
            {t('Remove')}
          </Button>
        ) : (
          <Button disabled={!canAct} aria-label={t('Install {what}', { what: `${version} · ${worker.id}` })} onClick={() => tell('pkg.install')}>
            {t('Install')}
          </Button>
        ))}
    </li>
  )
}
