/** One session: who has its place, what it is like, how it changed, and giving it back. */
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'

import { useAct } from '@/api/actions'
import { isUnknown } from '@/api/client'
import { envSessionQuery, screenshotQuery, takeSnapshot } from '@/api/envs'
import type { EnvSession, EnvSnapshot } from '@/api/types'
import { type Text, useT } from '@/i18n'
import { Button, Chip, IconButton, Skeleton } from '@/parts/basics'
import { Ago, Time } from '@/parts/clock'
import { CopyAs } from '@/parts/copy'
import { Empty, Failed } from '@/parts/feedback'
import { Json } from '@/parts/json'
import { formatBytes } from '@/parts/size'
import { Status } from '@/parts/status'
import { useCanAct, useMayAct } from '@/shell/health'

import { ChangedFiles } from './files'
import { changesOf, hasPlace, mayRelease, type SnapshotChange, taskName } from './places'

interface Props {
  id: string
  onClose: () => void
  onRelease: (session: EnvSession) => void
}

export function SessionDetail({ id, onClose, onRelease }: Props) {
  const t = useT()
  const read = useQuery(envSessionQuery(id))
  return (
    <aside aria-label={t('Session')} className="mb-4 min-w-0 overflow-clip rounded-lg border border-line bg-panel">
      {isUnknown(read.error) ? (
        <Empty icon="environments" title={t('There is no such session.')} command="windlass env ls --sessions --all">
          <Button onClick={onClose}>{t('Close')}</Button>
        </Empty>
      ) : read.error && !read.data ? (
        <Failed error={read.error} retry={() => void read.refetch()} />
      ) : !read.data ? (
        <Skeleton />
      ) : (
        <Body session={read.data} onClose={onClose} onRelease={onRelease} />
      )}
    </aside>
  )
}

function Body({ session, onClose, onRelease }: { session: EnvSession; onClose: () => void; onRelease: Props['onRelease'] }) {
  const t = useT()
  const canAct = useCanAct()
  const mayAct = useMayAct()
  return (
    <>
      <header className="flex items-center gap-2 py-2 pr-2 pl-3">
        <h2 className="min-w-0 truncate text-lg font-semibold">{session.resource}</h2>
        <Status state={session.state} />
        <span className="ml-auto">
          <IconButton icon="close" label={t('Close')} onClick={onClose} />
        </span>
      </header>
      <div className="px-3 pb-3">
        <Facts session={session} />
        <div className="mb-4 flex flex-wrap gap-1.5">
          {mayAct && mayRelease(session) && (
            <Button icon="undo" look="danger" disabled={!canAct} onClick={() => onRelease(session)}>
              {t('Release')}
            </Button>
          )}
          <CopyAs cli={`windlass env show ${session.id}`} path={`envs/sessions/${encodeURIComponent(session.id)}`} />
        </div>
        {mayAct && session.kind === 'browser' && hasPlace(session) && <Screenshot id={session.id} />}
        <Snapshots session={session} snapshots={session.snapshots ?? []} />
        {Object.keys(session.details).length > 0 && <Json value={session.details} name={t('Detail')} />}
      </div>
    </>
  )
}

function Facts({ session }: { session: EnvSession }) {
  const t = useT()
  return (
    <dl className="mb-3 grid grid-cols-[auto_minmax(0,1fr)] gap-x-4 gap-y-1 text-sm">
      <Fact name={t('Session')}>
        <span className="font-mono text-xs">{session.id}</span>
      </Fact>
      <Fact name={t('Kind')}>
        <Chip>{session.kind}</Chip>
      </Fact>
      <Fact name={t('Task')}>
        <Link to="/runs/$id" params={{ id: session.runId }} search={{ task: session.taskId }} className="text-accent underline">
          {taskName(session)}
        </Link>
      </Fact>
      {session.attemptId && (
        <Fact name={t('Latest attempt')}>
          <span className="font-mono text-xs">{session.attemptId}</span>
        </Fact>
      )}
      <Fact name={t('Epoch')}>{session.epoch}</Fact>
      {session.host && <Fact name={t('Host')}>{session.host}</Fact>}
      <Fact name={t('Made')}>
        <Time at={session.createdAt} />
      </Fact>
      {session.expiresAt && hasPlace(session) && (
        <Fact name={t('Given back')}>
          <Ago at={session.expiresAt} />
        </Fact>
      )}
      {session.releasedAt && (
        <Fact name={t('Given back')}>
          <Time at={session.releasedAt} />
        </Fact>
      )}
      {session.reason && <Fact name={t('Why')}>{session.reason}</Fact>}
    </dl>
  )
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <>
      <dt className="text-soft">{name}</dt>
      <dd className="min-w-0 wrap-anywhere">{children}</dd>
    </>
  )
}

function Screenshot({ id }: { id: string }) {
  const t = useT()
  const read = useQuery(screenshotQuery(id))
  return (
    <section className="mb-4">
      <div className="mb-1 flex items-center justify-between gap-2">
        <h3 className="text-sm font-semibold">{t('Screenshot')}</h3>
        <IconButton icon="rerun" label={t('Take another screenshot')} disabled={read.isFetching} onClick={() => void read.refetch()} />
      </div>
      {read.error ? (
        <Failed error={read.error} />
      ) : read.data ? (
        <img src={read.data} alt={t('What the browser shows')} className="w-full rounded-lg border border-line" />
      ) : (
        <Skeleton />
      )}
    </section>
  )
}

const TAKEN: Record<string, Text> = {
  pre_action: 'When it was made',
  post_action: 'When it was given back',
  checkpoint: 'When a person was asked',
  manual: 'Taken by hand',
}

const DRIFTS: Record<string, { text: Text; look: string }> = {
  changed: { text: 'Something in it has changed since it was made.', look: 'text-wait' },
  unchanged: { text: 'Nothing in it has changed since it was made.', look: 'text-ok' },
}

function Snapshots({ session, snapshots }: { session: EnvSession; snapshots: readonly EnvSnapshot[] }) {
  const t = useT()
  const act = useAct()
  const canAct = useCanAct()
  const mayAct = useMayAct()
  const { drift } = session
  const changes = changesOf(snapshots)
  const said = DRIFTS[drift] ?? { text: 'There are no two snapshots to compare yet.' as const, look: 'text-soft' }
  return (
    <section className="mb-4 text-sm">
      <div className="mb-1 flex items-center justify-between gap-2">
        <h3 className="font-semibold">{t('Snapshots')}</h3>
        {mayAct && hasPlace(session) && (
          <Button disabled={!canAct} onClick={() => void act(takeSnapshot(session.id), t('Snapshot taken'), 'env-session')}>
            {t('Take a snapshot')}
          </Button>
        )}
      </div>
      <p data-drift={drift} className={`mb-1 ${said.look}`}>
        {t(said.text)}
      </p>
      <ol>
        {snapshots.map((one, at) => (
          <li key={one.id} className="flex flex-wrap items-baseline gap-x-2 border-t border-line py-1.5">
            <span className="font-medium">{TAKEN[one.kind] ? t(TAKEN[one.kind] as Text) : one.kind}</span>
            <span className="text-soft tabular-nums">{formatBytes(one.sizeBytes)}</span>
            <Changed change={changes[at]} />
            <span className="ml-auto text-xs text-soft">
              <Time at={one.createdAt} />
            </span>
            <span title={one.digest} className="w-full truncate font-mono text-xs text-soft">
              {one.digest}
            </span>
            {one.files && <ChangedFiles files={one.files} />}
          </li>
        ))}
      </ol>
    </section>
  )
}

/** Against the snapshot before: the same, or another, and by how much larger or smaller. */
function Changed({ change }: { change: SnapshotChange | undefined }) {
  const t = useT()
  if (!change || change.changed === null) return null
  const { changed, grown } = change
  const by = grown === 0 ? '' : ` ${grown > 0 ? '+' : '−'}${formatBytes(Math.abs(grown))}`
  return (
    <span data-changed={changed} className={`text-xs font-medium ${changed ? 'text-wait' : 'text-ok'}`}>
      {changed ? t('changed') : t('as before')}
      {by}
    </span>
  )
}
