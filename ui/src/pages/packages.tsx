/** Packages: what workers can install, and how to add one. */
import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { useState } from 'react'

import { packagesQuery, workersQuery } from '@/api/queries'
import type { Package } from '@/api/types'
import { useT } from '@/i18n'
import { UploadPackage } from '@/package/upload'
import { Button, FIELD, PageHead, Panel, Skeleton } from '@/parts/basics'
import { Empty, Failed } from '@/parts/feedback'
import { Status } from '@/parts/status'
import { Table } from '@/parts/table'
import { useTitle } from '@/parts/title'
import { useCanAct, useMayAct } from '@/shell/health'

const route = getRouteApi('/packages')
const COMMANDS = 'windlass pkg new my_tools\nwindlass pkg build my_tools\nwindlass pkg publish my_tools-0.1.0.cwx'

export function PackagesPage() {
  const t = useT()
  useTitle(t('Packages'))
  const { q = '' } = route.useSearch()
  const navigate = route.useNavigate()
  const canAct = useCanAct()
  const mayAct = useMayAct()
  const packages = useQuery(packagesQuery(q))
  const [upload, setUpload] = useState<{ file?: File } | null>(null)
  const items = packages.data?.items ?? []
  return (
    <div
      className="min-h-[calc(100vh-8rem)]"
      onDragOver={(event) => mayAct && event.preventDefault()}
      onDrop={(event) => {
        if (!mayAct || !event.dataTransfer.files.length) return
        event.preventDefault()
        setUpload({ file: event.dataTransfer.files[0] })
      }}
    >
      <PageHead title={t('Packages')}>
        <input
          type="search"
          aria-label={t('Find a package')}
          placeholder={t('Find a package')}
          value={q}
          onChange={(event) => void navigate({ search: { q: event.target.value || undefined }, replace: true })}
          className={`${FIELD} max-w-56`}
        />
        {mayAct && (
          <Button icon="upload" look="main" disabled={!canAct} onClick={() => setUpload({})}>
            {t('Upload')}
          </Button>
        )}
      </PageHead>
      {packages.error && !packages.data && <Failed error={packages.error} retry={() => void packages.refetch()} />}
      {packages.isPending && !packages.error && <Skeleton />}
      {packages.data && items.length === 0 && (
        <Empty title={q ? t('No package matches {q}', { q }) : t('No packages yet. Make one and publish it:')} command={q ? undefined : COMMANDS}>
          {!q && mayAct && <p className="text-sm text-soft">{t('Or drop a .cwx file anywhere on this page.')}</p>}
        </Empty>
      )}
      {items.length > 0 && <PackageTable items={items} />}
      {upload && <UploadPackage file={upload.file} onClose={() => setUpload(null)} />}
    </div>
  )
}

function PackageTable({ items }: { items: readonly Package[] }) {
  const t = useT()
  const workers = useQuery(workersQuery)
  const having = (name: string) =>
    workers.data?.items.filter((worker) => worker.packages?.some((one) => one.name === name && one.status === 'installed')).length ?? 0
  return (
    <Panel>
      <Table
        label={t('Packages')}
        rows={items}
        keyOf={(item) => item.name}
        rowProps={(item) => ({ 'data-package': item.name })}
        columns={[
          {
            head: t('Package'),
            cell: (item) => (
              <Link to="/packages/$name" params={{ name: item.name }} className="font-medium hover:text-accent hover:underline">
                {item.name}
              </Link>
            ),
          },
          { head: t('Status'), cell: (item) => <Status state={item.state} /> },
          { head: 'latest', cell: (item) => <span className="font-mono">{item.defaultVersion ?? '–'}</span> },
          { head: t('Workers'), number: true, cell: (item) => having(item.name) },
          { head: t('Versions'), wide: true, number: true, cell: (item) => item.versions.length },
          { head: t('Description'), wide: true, grows: true, cell: (item) => <span className="text-soft">{item.description}</span> },
        ]}
      />
    </Panel>
  )
}
