/** Flows: what can be run, and how to add one. */
import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { useState } from 'react'

import { flowsQuery } from '@/api/queries'
import type { Flow } from '@/api/types'
import { UploadDialog } from '@/flow/upload'
import { useT } from '@/i18n'
import { Button, FIELD, PageHead, Panel, Skeleton } from '@/parts/basics'
import { Time } from '@/parts/clock'
import { Empty, Failed } from '@/parts/feedback'
import { useTitle } from '@/parts/title'
import { useCanAct, useMayAct } from '@/shell/health'

import { NewRunButton } from './start'

const route = getRouteApi('/flows')

export function FlowsPage() {
  const t = useT()
  useTitle(t('Flows'))
  const { q = '' } = route.useSearch()
  const navigate = route.useNavigate()
  const canAct = useCanAct()
  const mayAct = useMayAct()
  const flows = useQuery(flowsQuery(q))
  const [upload, setUpload] = useState(false)
  const items = flows.data?.items ?? []
  // Workflows may share a name; then only ids tell them apart.
  const keyOf = (flow: Flow) => (items.filter((one) => one.name === flow.name).length > 1 ? flow.id : flow.name)
  return (
    <>
      <PageHead title={t('Flows')}>
        <input
          type="search"
          aria-label={t('Find a flow')}
          placeholder={t('Find a flow')}
          value={q}
          onChange={(event) => void navigate({ search: { q: event.target.value || undefined }, replace: true })}
          className={`${FIELD} max-w-56`}
        />
        {mayAct && (
          <Button disabled={!canAct} onClick={() => setUpload(true)}>
            ↑ {t('Upload')}
          </Button>
        )}
        <NewRunButton />
      </PageHead>
      {flows.error && !flows.data && <Failed error={flows.error} retry={() => void flows.refetch()} />}
      {flows.isPending && !flows.error && <Skeleton />}
      {flows.data && items.length === 0 && (
        <Empty title={q ? t('No flow matches {q}', { q }) : t('No flows yet. Push one:')} command="windlass flow push FILE" />
      )}
      {items.length > 0 && (
        <Panel>
          <div className="overflow-x-auto" tabIndex={0}>
            <table className="w-full text-sm">
              <thead className="text-left text-xs text-soft">
                <tr>
                  {[t('Flow'), t('Description'), t('Versions'), t('Made'), t('Runs')].map((head, at) => (
                    <th key={head} className={`px-3 py-2 font-semibold ${at === 1 || at === 3 ? 'hidden md:table-cell' : ''}`}>
                      {head}
                    </th>
                  ))}
                </tr>
              </thead>
              <tbody>
                {items.map((flow) => (
                  <tr key={flow.id} className="border-t border-line hover:bg-sunk">
                    <td className="px-3 py-2 font-medium">
                      <Link to="/flows/$name" params={{ name: keyOf(flow) }} className="text-accent underline">
                        {flow.name}
                      </Link>
                    </td>
                    <td className="hidden max-w-md truncate px-3 text-soft md:table-cell">{flow.description}</td>
                    <td className="px-3 tabular-nums">{flow.versions}</td>
                    <td className="hidden px-3 md:table-cell">
                      <Time at={flow.createdAt} />
                    </td>
                    <td className="px-3">
                      <Link to="/runs" search={{ q: `flow:${flow.name}` }} className="text-accent underline">
                        {t('Runs')}
                      </Link>
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        </Panel>
      )}
      {upload && <UploadDialog onClose={() => setUpload(false)} />}
    </>
  )
}
