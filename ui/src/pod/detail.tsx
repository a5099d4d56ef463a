/** One pod: where it is, what it asks for, and what happened to it, in order. */
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { type ReactNode, useEffect, useRef } from 'react'

import { isUnknown } from '@/api/client'
import { podQuery } from '@/api/pods'
import type { Pod, PodDetail } from '@/api/types'
import { asWritten } from '@/graph/names'
import { useT } from '@/i18n'
import { Button, IconButton, Skeleton } from '@/parts/basics'
import { Ago } from '@/parts/clock'
import { CopyAs, CopyButton } from '@/parts/copy'
import { Empty, Failed } from '@/parts/feedback'
import { Status } from '@/parts/status'

import { PodEvents } from './events'
import { KubernetesList } from './kubernetes'
import { shownState } from './pods'
import { SaysLine } from './says'

export function PodAside({ id, onClose }: { id: string; onClose: () => void }) {
  const t = useT()
  const read = useQuery(podQuery(id))
  const aside = useRef<HTMLElement>(null)
  useEffect(() => {
    // On a narrow page it lies below the table it was picked in.
    if (innerWidth < 1280) aside.current?.scrollIntoView({ block: 'start' })
  }, [])
  return (
    <aside ref={aside} aria-label={t('Pod')} className="mb-4 min-w-0 overflow-clip rounded-lg border border-line bg-panel">
      {isUnknown(read.error) ? (
        <Empty icon="pods" title={t('There is no such pod.')} command="windlass pod ls --all">
          <Button onClick={onClose}>{t('Close')}</Button>
        </Empty>
      ) : read.error && !read.data ? (
        <Failed error={read.error} retry={() => void read.refetch()} />
      ) : !read.data ? (
        <Skeleton />
      ) : (
        <Body found={read.data} onClose={onClose} />
      )}
    </aside>
  )
}

function Body({ found, onClose }: { found: PodDetail; onClose: () => void }) {
  const t = useT()
  const { pod } = found
  return (
    <>
      <header className="flex items-center gap-2 py-2 pr-2 pl-3">
        <h2 title={pod.pod} className="min-w-0 truncate font-mono text-sm font-semibold">
          {pod.pod}
        </h2>
        <Status state={shownState(pod)} />
        <span className="ml-auto">
          <IconButton icon="close" label={t('Close')} onClick={onClose} />
        </span>
      </header>
      <div className="px-3 pb-3">
        <div className="mb-3 text-sm">
          <SaysLine pod={pod} whole />
        </div>
        <Facts found={found} />
        <div className="mb-4 flex flex-wrap gap-1.5">
          <CopyAs cli={`windlass pod show ${pod.pod}`} path={`pods/${encodeURIComponent(pod.attemptId)}`} />
          <CopyButton text={`kubectl -n ${pod.namespace} describe pod ${pod.pod}`} label="kubectl" />
        </div>
        <h3 className="mb-2 text-sm font-semibold">{t('Events')}</h3>
        <PodEvents pod={pod} events={found.events} />
        <h3 className="mt-4 mb-2 text-sm font-semibold">{t('Events of Kubernetes')}</h3>
        <KubernetesList told={found.kubernetes} />
      </div>
    </>
  )
}

function Facts({ found }: { found: PodDetail }) {
  const t = useT()
  const { pod } = found
  const asks = [found.cpu && `${found.cpu} cpu`, found.memory, found.gpu > 0 && `${found.gpu} gpu`].filter(Boolean).join(' · ')
  return (
    <dl className="mb-3 grid grid-cols-[auto_minmax(0,1fr)] gap-x-4 gap-y-1 text-sm">
      <Fact name={t('Run')}>
        <Link to="/runs/$id" params={{ id: pod.runId }} className="text-accent hover:underline">
          {pod.flow} <span className="font-mono text-xs">{pod.runId.slice(-6)}</span>
        </Link>
      </Fact>
      <Fact name={t('Task')}>
        <AttemptLink pod={pod} tab="attempts">
          {asWritten(pod.node)} #{pod.number}
        </AttemptLink>
        {' · '}
        <AttemptLink pod={pod} tab="logs">
          {t('Logs')}
        </AttemptLink>
      </Fact>
      <Fact name={t('Namespace')}>{pod.namespace}</Fact>
      <Fact name={t('Runs on')}>{found.clusterNode || <span className="text-soft">{t('no node yet')}</span>}</Fact>
      <Fact name={t('Image')}>
        <span className="font-mono text-xs">{pod.image || '–'}</span>
      </Fact>
      {asks && <Fact name={t('Asks for')}>{asks}</Fact>}
      {pod.uid && (
        <Fact name="uid">
          <span className="font-mono text-xs">{pod.uid}</span>
        </Fact>
      )}
      <Fact name={t('Since')}>
        <Ago at={pod.since} />
      </Fact>
    </dl>
  )
}

function AttemptLink({ pod, tab, children }: { pod: Pod; tab: string; children: ReactNode }) {
  return (
    <Link to="/runs/$id" params={{ id: pod.runId }} search={{ task: pod.taskId, tab, attempt: pod.number }} className="text-accent hover:underline">
      {children}
    </Link>
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
