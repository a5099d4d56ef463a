/** Pods: the attempts that are some, how far they have come, and what keeps them. */
import { useInfiniteQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useMemo } from 'react'

import { podsQuery, type PodsWanted } from '@/api/pods'
import { useT } from '@/i18n'
import { Button, PageHead, Panel, Skeleton } from '@/parts/basics'
import { CopyAs } from '@/parts/copy'
import { Failed } from '@/parts/feedback'
import { useTitle } from '@/parts/title'
import { PodAside } from '@/pod/detail'
import { NoLauncher, NoPods, PodFilters, Squares } from '@/pod/head'
import { byNamespace } from '@/pod/pods'
import { PodTable } from '@/pod/table'
import { useKeys } from '@/shell/keys'

const route = getRouteApi('/pods')

export function PodsPage() {
  const t = useT()
  useTitle(t('Pods'))
  const { id, ...wanted } = route.useSearch()
  const navigate = route.useNavigate()
  const read = useInfiniteQuery(podsQuery(wanted))
  const pods = useMemo(() => read.data?.pages.flatMap((page) => page.items) ?? [], [read.data])
  const namespaces = useMemo(() => byNamespace(pods), [pods])
  const newest = read.data?.pages.at(-1)
  const change = (to: PodsWanted) => void navigate({ search: (old) => ({ ...old, ...to }), replace: true })
  const choose = (chosen: string | undefined) => void navigate({ search: (old) => ({ ...old, id: chosen }), replace: true })
  const at = pods.findIndex((one) => one.attemptId === id)
  useKeys({
    j: () => choose(pods[Math.min(pods.length - 1, at + 1)]?.attemptId),
    k: () => choose(pods[Math.max(0, at - 1)]?.attemptId),
    Escape: () => choose(undefined),
  })
  return (
    <>
      <PageHead title={t('Pods')}>
        <CopyAs cli={cliOf(wanted)} path={pathOf(wanted)} />
      </PageHead>
      {newest && <NoLauncher page={newest} pods={pods.length} />}
      <PodFilters wanted={wanted} namespaces={namespaces.map((one) => one.name)} onChange={change} />
      {read.error && !read.data && <Failed error={read.error} retry={() => void read.refetch()} />}
      {read.isPending && !read.error && <Skeleton />}
      {pods.length > 0 && <Squares namespaces={namespaces} onChoose={(namespace) => change({ namespace })} />}
      <div className={`grid grid-cols-[minmax(0,1fr)] items-start gap-4 ${id ? 'xl:grid-cols-[minmax(0,1fr)_28rem]' : ''}`}>
        {newest && (
          <Panel>
            {pods.length > 0 ? (
              <PodTable pods={pods} shown={id} />
            ) : (
              <NoPods page={newest} filtered={Object.values(wanted).some(Boolean)} onClear={() => void navigate({ search: {} })} />
            )}
            {read.hasNextPage && (
              <div className="border-t border-line p-2 text-center">
                <Button disabled={read.isFetchingNextPage} onClick={() => void read.fetchNextPage()}>
                  {t('Show more')}
                </Button>
              </div>
            )}
          </Panel>
        )}
        {id && <PodAside key={id} id={id} onClose={() => choose(undefined)} />}
      </div>
    </>
  )
}

function cliOf({ q, namespace, state }: PodsWanted): string {
  const quoted = q && `'${q.replaceAll("'", "'\\''")}'`
  const status = state === 'all' ? '--all' : state && `--state ${state}`
  return ['windlass pod ls', quoted, namespace && `--namespace ${namespace}`, status].filter(Boolean).join(' ')
}

function pathOf(wanted: PodsWanted): string {
  const given = new URLSearchParams(Object.entries(wanted).filter((one): one is [string, string] => Boolean(one[1])))
  return given.size > 0 ? `pods?${given}` : 'pods'
}
