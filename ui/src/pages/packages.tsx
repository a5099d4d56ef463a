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
          <Button look="main" disabled={!canAct} onClick={() => setUpload({})}>
            ↑ {t('Upload')}
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
      {items.length > 0 && <Table items={items} />}
      {upload && <UploadPackage file={upload.file} onClose={() => setUpload(null)} />}
    </div>
  )
}

function Table({ items }: { items: readonly Package[] }) {
  const t = useT()
  const workers = useQuery(workersQuery)
  const having = (name: string) =>
    workers.data?.items.filter((worker) => worker.packages?.some((one) => one.name === name && one.status === 'installed')).length ?? 0
  return (
    <Panel>
      <div className="overflow-x-auto" tabIndex={0}>
        <table className="w-full text-sm">
          <thead className="text-left text-xs text-soft">
            <tr>
              {[t('Package'), t('Status'), 'latest', t('Workers'), t('Versions'), t('Description')].map((head, at) => (
                <th key={head} className={`px-3 py-2 font-semibold whitespace-nowrap ${at > 3 ? 'hidden md:table-cell' : ''}`}>
                  {head}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {items.map((item) => (
              <tr key={item.name} data-package={item.name} className="border-t border-line hover:bg-sunk">
                <td className="px-3 py-2 font-medium">
                  <Link to="/packages/$name" params={{ name: item.name }} className="text-accent underline">
                    {item.name}
                  </Link>
                </td>
                <td className="px-3">
                  <Status state={item.state} />
                </td>
                <td className="px-3 font-mono whitespace-nowrap">{item.defaultVersion ?? '–'}</td>
                <td className="px-3 tabular-nums">{having(item.name)}</td>
                <td className="hidden px-3 tabular-nums md:table-cell">{item.versions.length}</td>
                <td className="hidden max-w-md truncate px-3 text-soft md:table-cell" title={item.description}>
                  {item.description}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Panel>
  )
}
