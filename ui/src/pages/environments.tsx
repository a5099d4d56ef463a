/** Environments: what places there may be, who has one, and which runtimes are missing. */
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useMemo, useState } from 'react'

import { useAct } from '@/api/actions'
import { envImagesQuery, envKindsQuery, envResourcesQuery, envSessionsQuery, releaseSession } from '@/api/envs'
import type { EnvResource, EnvSession } from '@/api/types'
import { SessionDetail } from '@/env/detail'
import { Images } from '@/env/images'
import { heldOf } from '@/env/places'
import { MissingKinds, NoResources, Resources } from '@/env/resources'
import { SessionFilters, Sessions } from '@/env/sessions'
import { useT } from '@/i18n'
import { Button, PageHead, Panel, Skeleton } from '@/parts/basics'
import { CopyAs } from '@/parts/copy'
import { Confirm } from '@/parts/dialog'
import { Empty, Failed } from '@/parts/feedback'
import { useTitle } from '@/parts/title'
import { useKeys } from '@/shell/keys'

const route = getRouteApi('/environments')

export function EnvironmentsPage() {
  const t = useT()
  useTitle(t('Environments'))
  const read = useQuery(envResourcesQuery)
  const kinds = useQuery(envKindsQuery).data?.items
  const images = useQuery(envImagesQuery).data?.items ?? []
  const resources = read.data?.items ?? []
  const live = useInfiniteQuery(envSessionsQuery({})).data?.pages.flatMap((page) => page.items) ?? []
  return (
    <>
      <PageHead title={t('Environments')}>
        <CopyAs cli="windlass env ls" path="envs/resources" />
      </PageHead>
      {kinds && read.data && <MissingKinds kinds={kinds} resources={resources} />}
      {read.error && !read.data && <Failed error={read.error} retry={() => void read.refetch()} />}
      {read.isPending && !read.error && <Skeleton />}
      {kinds && read.data && resources.length === 0 && <NoResources kinds={kinds} />}
      {resources.length > 0 && <Resources resources={resources} held={heldOf(live)} />}
      {read.data && <SessionsPart resources={resources} />}
      {(images.length > 0 || resources.some((one) => one.kind === 'container')) && <Images images={images} />}
    </>
  )
}

function SessionsPart({ resources }: { resources: readonly EnvResource[] }) {
  const t = useT()
  const { id, ...wanted } = route.useSearch()
  const navigate = route.useNavigate()
  const [released, setReleased] = useState<EnvSession | null>(null)
  const read = useInfiniteQuery(envSessionsQuery(wanted))
  const sessions = useMemo(() => read.data?.pages.flatMap((page) => page.items) ?? [], [read.data])
  const choose = (chosen: string | undefined) => void navigate({ search: (old) => ({ ...old, id: chosen }), replace: true })
  const at = sessions.findIndex((one) => one.id === id)
  useKeys({
    j: () => choose(sessions[Math.min(sessions.length - 1, at + 1)]?.id),
    k: () => choose(sessions[Math.max(0, at - 1)]?.id),
    Escape: () => choose(undefined),
  })
  const filtered = Object.values(wanted).some(Boolean)
  // Without a resource there are no sessions, and nothing to say of them.
  if (resources.length === 0 && sessions.length === 0 && !filtered && !id) return null
  const names = resources.map((one) => one.name)
  return (
    <>
      <h2 className="mb-2 text-sm font-semibold">{t('Sessions')}</h2>
      <SessionFilters wanted={wanted} resources={names} onChange={(change) => void navigate({ search: (old) => ({ ...old, ...change, id: undefined }) })} />
      {read.error && !read.data && <Failed error={read.error} retry={() => void read.refetch()} />}
      {read.isPending && !read.error && <Skeleton />}
      <div className={`grid grid-cols-[minmax(0,1fr)] items-start gap-4 ${id ? 'xl:grid-cols-[minmax(0,1fr)_28rem]' : ''}`}>
        {read.data && (
          <Panel>
            {sessions.length === 0 ? <NoSessions filtered={filtered} /> : <Sessions sessions={sessions} shown={id} onChoose={choose} />}
            {read.hasNextPage && (
              <div className="border-t border-line p-2 text-center">
                <Button disabled={read.isFetchingNextPage} onClick={() => void read.fetchNextPage()}>
                  {t('Show more')}
                </Button>
              </div>
            )}
          </Panel>
        )}
        {id && <SessionDetail key={id} id={id} onClose={() => choose(undefined)} onRelease={setReleased} />}
      </div>
      {released && <ReleaseDialog session={released} onClose={() => setReleased(null)} />}
    </>
  )
}

function NoSessions({ filtered }: { filtered: boolean }) {
  const t = useT()
  const navigate = route.useNavigate()
  if (!filtered) return <Empty icon="environments" title={t('No task has a place now. Those that were given back:')} command="windlass env ls --sessions --all" />
  return (
    <Empty icon="environments" title={t('No session fits the filter.')}>
      <Button onClick={() => void navigate({ search: {} })}>{t('Clear the filter')}</Button>
    </Empty>
  )
}

function ReleaseDialog({ session, onClose }: { session: EnvSession; onClose: () => void }) {
  const t = useT()
  const act = useAct()
  const [busy, setBusy] = useState(false)
  const go = async () => {
    setBusy(true)
    await act(releaseSession(session.id), t('The place is given back'), 'env-sessions', 'env-session', 'env-resources')
    onClose()
  }
  return (
    <Confirm title={t('Release this place of {name}?', { name: session.resource })} action={t('Release')} danger busy={busy} onClose={onClose} onConfirm={() => void go()}>
      {session.state === 'held'
        ? t('A person was asked something meanwhile: the next attempt gets a new place, and what is in this one is lost.')
        : t('What is in it is lost, with its snapshots.')}
    </Confirm>
  )
}
