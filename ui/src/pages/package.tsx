/** One package: its versions, what is in them, and who has them. */
import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'

import { download, isUnknown } from '@/api/client'
import { packageQuery } from '@/api/queries'
import type { PackageDetail } from '@/api/types'
import { useT } from '@/i18n'
import { VersionActions } from '@/package/actions'
import { Holders } from '@/package/holders'
import { readManifest } from '@/package/manifest'
import { NodeTemplates } from '@/package/nodes'
import { tagsOf } from '@/package/versions'
import { Versions } from '@/package/versions-table'
import { Button, PageHead, Panel, Skeleton } from '@/parts/basics'
import { CopyButton } from '@/parts/copy'
import { Failed, toastError } from '@/parts/feedback'
import { Json } from '@/parts/json'
import { formatBytes } from '@/parts/size'
import { Status } from '@/parts/status'
import { useTitle } from '@/parts/title'
import { useCrumb } from '@/shell/crumb'
import { Lost } from '@/shell/lost'

const route = getRouteApi('/packages/$name')

export function PackagePage() {
  const t = useT()
  const { name } = route.useParams()
  const { version = '' } = route.useSearch()
  const found = useQuery(packageQuery(name, version))
  useTitle(name)
  useCrumb(name)
  if (isUnknown(found.error)) return <Lost title={t('No package is called {name}', { name })} to="/packages" way={t('All packages')} />
  if (found.error && !found.data) return <Failed error={found.error} retry={() => void found.refetch()} />
  if (!found.data) return <Skeleton rows={6} />
  const shown = found.data
  const manifest = readManifest(shown.manifest)
  return (
    <>
      <PageHead
        title={
          <>
            {name} <span className="font-mono text-base text-soft">{shown.version}</span>
          </>
        }
      >
        <VersionActions shown={shown} />
      </PageHead>
      <p className="mb-4 max-w-3xl text-sm text-soft">{shown.description}</p>
      <div className="grid items-start gap-x-4 xl:grid-cols-[minmax(0,26rem)_minmax(0,1fr)]">
        <div className="min-w-0">
          <Facts shown={shown} python={manifest.python} />
          <Versions shown={shown} />
          <Holders name={name} version={shown.version} />
        </div>
        <div className="min-w-0">
          <NodeTemplates nodes={manifest.nodes} />
          <Panel title={t('Manifest')}>
            <div className="p-3">
              <Json value={shown.manifest} name={`${name}-${shown.version}`} />
            </div>
          </Panel>
        </div>
      </div>
    </>
  )
}

function Facts({ shown, python }: { shown: PackageDetail; python: string }) {
  const t = useT()
  const fetchIt = () => {
    const path = `published-packages/${encodeURIComponent(shown.name)}/archive?version=${encodeURIComponent(shown.version)}`
    download(path, `${shown.name}-${shown.version}.cwx`).catch(toastError)
  }
  const tags = tagsOf(shown, shown.version)
  return (
    <Panel title={t('This version')} action={<Button icon="download" onClick={fetchIt}>{t('Download')}</Button>}>
      <dl className="grid grid-cols-[auto_minmax(0,1fr)] gap-x-4 gap-y-1.5 p-3 text-sm">
        <dt className="text-soft">{t('Status')}</dt>
        <dd data-package-status={shown.status}>
          <Status state={shown.status} />
        </dd>
        <dt className="text-soft">{t('Tags')}</dt>
        <dd className="flex flex-wrap gap-1">{tags.length ? tags.map((tag) => <Tag key={tag} text={tag} />) : '–'}</dd>
        <dt className="text-soft">{t('Signed by')}</dt>
        <dd>{shown.signer ? <span className="text-ok">{shown.signer}</span> : <span className="text-wait">{t('not signed')}</span>}</dd>
        <dt className="text-soft">sha256</dt>
        <dd className="flex items-center gap-2">
          <code className="min-w-0 truncate font-mono text-xs" title={shown.archiveSha256}>
            {shown.archiveSha256}
          </code>
          <CopyButton text={shown.archiveSha256} />
        </dd>
        <dt className="text-soft">{t('Size')}</dt>
        <dd>{formatBytes(shown.archiveSizeBytes)}</dd>
        {python && (
          <>
            <dt className="text-soft">Python</dt>
            <dd>{python}</dd>
          </>
        )}
        <dt className="text-soft">{t('Published by')}</dt>
        <dd>
          {shown.ownerId} · {shown.visibility}
        </dd>
      </dl>
    </Panel>
  )
}

export function Tag({ text }: { text: string }) {
  return <span className="rounded bg-accent-soft px-1.5 font-mono text-xs text-accent">{text}</span>
}
