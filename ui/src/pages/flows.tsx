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
import { Table } from '@/parts/table'
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
          <Button icon="upload" disabled={!canAct} onClick={() => setUpload(true)}>
            {t('Upload')}
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
          <Table
            label={t('Flows')}
            rows={items}
            keyOf={(flow) => flow.id}
            columns={[
              {
                head: t('Flow'),
                cell: (flow) => (
                  <Link to="/flows/$name" params={{ name: keyOf(flow) }} className="font-medium hover:text-accent hover:underline">
                    {flow.name}
                  </Link>
                ),
              },
              { head: t('Description'), wide: true, grows: true, cell: (flow) => <span className="text-soft">{flow.description}</span> },
              { head: t('Versions'), number: true, cell: (flow) => flow.versions },
              { head: t('Made'), wide: true, cell: (flow) => <Time at={flow.createdAt} /> },
              {
                head: t('Runs'),
                cell: (flow) => (
                  <Link to="/runs" search={{ q: `flow:${flow.name}` }} className="text-accent hover:underline">
                    {t('Runs')}
                  </Link>
                ),
              },
            ]}
          />
        </Panel>
      )}
      {upload && <UploadDialog onClose={() => setUpload(false)} />}
    </>
  )
}
