/** Workers: who is there, what each holds, who has not been heard of. */
import { useQuery } from '@tanstack/react-query'

import { workersQuery } from '@/api/queries'
import type { Worker } from '@/api/types'
import { useT } from '@/i18n'
import { PageHead, Panel, Skeleton } from '@/parts/basics'
import { Ago, Time } from '@/parts/clock'
import { Empty, Failed } from '@/parts/feedback'
import { Status } from '@/parts/status'
import { useTitle } from '@/parts/title'

const ORDER = ['late', 'online', 'offline']

export function WorkersPage() {
  const t = useT()
  useTitle(t('Workers'))
  const workers = useQuery(workersQuery)
  const items = [...(workers.data?.items ?? [])].sort(
    (a, b) => ORDER.indexOf(a.state) - ORDER.indexOf(b.state) || a.id.localeCompare(b.id),
  )
  const count = (state: string) => items.filter((worker) => worker.state === state).length
  const command = `windlass worker my_module:worker --server ${new URL('.', document.baseURI).href}`
  return (
    <>
      <PageHead title={t('Workers')}>
        <span className="text-sm text-soft">
          {t('{online} online · {late} late', { online: count('online'), late: count('late') })}
        </span>
      </PageHead>
      {workers.error && !workers.data && <Failed error={workers.error} retry={() => void workers.refetch()} />}
      {workers.isPending && !workers.error && <Skeleton />}
      {workers.data && items.length === 0 && <Empty title={t('No worker has connected yet. Start one:')} command={command} />}
      {items.length > 0 && (
        <Panel>
          <div className="overflow-x-auto" tabIndex={0}>
            <table className="w-full text-sm">
              <thead className="text-left text-xs text-soft">
                <tr>
                  {[t('Worker'), t('Status'), t('Holds'), t('Way'), t('Services'), t('Last heard of'), t('Since')].map((head) => (
                    <th key={head} className="px-3 py-2 font-semibold whitespace-nowrap">
                      {head}
                    </th>
                  ))}
                </tr>
              </thead>
              <tbody>
                {items.map((worker) => (
                  <Row key={worker.id} worker={worker} />
                ))}
              </tbody>
            </table>
          </div>
        </Panel>
      )}
    </>
  )
}

function Row({ worker }: { worker: Worker }) {
  return (
    <tr className="border-t border-line align-top">
      <td className="px-3 py-2 font-medium whitespace-nowrap">{worker.id}</td>
      <td className="px-3 py-2">
        <Status state={worker.state} />
      </td>
      <td className="px-3 py-2 tabular-nums">
        {worker.held}
        {worker.capacity > 0 && ` / ${worker.capacity}`}
      </td>
      <td className="px-3 py-2 whitespace-nowrap">
        {worker.transport}
        {worker.url && <span className="block text-xs text-soft">{worker.url}</span>}
      </td>
      <td className="px-3 py-2">
        <span className="flex max-w-md flex-wrap gap-1">
          {worker.services.map((service) => (
            <span key={service} className="rounded bg-sunk px-1.5 font-mono text-xs">
              {service}
            </span>
          ))}
        </span>
      </td>
      <td className="px-3 py-2">
        <Ago at={worker.seenAt} />
      </td>
      <td className="px-3 py-2">
        <Time at={worker.registeredAt} />
      </td>
    </tr>
  )
}
