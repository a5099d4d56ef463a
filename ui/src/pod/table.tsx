/** A line for each pod: whose it is, how far it has come, and what is to be known of it. */
import { Link } from '@tanstack/react-router'

import type { Pod } from '@/api/types'
import { useT } from '@/i18n'
import { Chip } from '@/parts/basics'
import { Ago } from '@/parts/clock'
import { Status } from '@/parts/status'
import { Table } from '@/parts/table'

import { classText, percentOf, saysOf, shownState } from './pods'

export function PodTable({ pods }: { pods: readonly Pod[] }) {
  const t = useT()
  return (
    <Table
      label={t('Pods')}
      rows={pods}
      keyOf={(one) => one.attemptId}
      rowProps={(one) => ({ 'data-pod': one.pod })}
      columns={[
        { head: t('Pod'), cell: (one) => <Name pod={one} /> },
        { head: t('Status'), cell: (one) => <Status state={shownState(one)} /> },
        { head: t('Since'), wide: true, cell: (one) => <Ago at={one.since} /> },
        { head: t('Details'), wide: true, grows: true, cell: (one) => <SaysLine pod={one} /> },
        { head: t('Node'), widest: true, cell: (one) => <Node pod={one} /> },
        {
          head: t('Run'),
          wide: true,
          cell: (one) => (
            <Link to="/runs/$id" params={{ id: one.runId }} className="hover:underline">
              {one.flow} <span className="font-mono text-xs text-soft">{one.runId.slice(-6)}</span>
            </Link>
          ),
        },
        { head: t('Namespace'), widest: true, cell: (one) => <span className="text-soft">{one.namespace}</span> },
        { head: t('Image'), widest: true, cell: (one) => <Image name={one.image} /> },
      ]}
    />
  )
}

/** Its name leads to its attempt; a narrow page has the rest below it. */
function Name({ pod }: { pod: Pod }) {
  return (
    <span className="block max-w-[13rem] py-1 md:max-w-none md:py-0">
      <Link
        to="/runs/$id"
        params={{ id: pod.runId }}
        search={{ task: pod.taskId, tab: 'attempts', attempt: pod.number }}
        title={pod.uid ? `${pod.pod} (${pod.uid})` : pod.pod}
        className="block truncate font-mono text-xs text-accent hover:underline md:max-w-60"
      >
        {pod.pod}
      </Link>
      <span className="block text-xs whitespace-normal text-soft md:hidden">
        {pod.flow} · {pod.namespace} · <Ago at={pod.since} />
        <SaysLine pod={pod} />
      </span>
    </span>
  )
}

function Node({ pod }: { pod: Pod }) {
  return (
    <>
      {pod.node} <span className="text-xs text-soft">#{pod.number}</span>
    </>
  )
}

/** An image without the host it comes from, which all of them share; whole when pointed at. */
function Image({ name }: { name: string }) {
  if (!name) return <span className="text-soft">–</span>
  return <Chip title={name}>{name.split('/').at(-1)}</Chip>
}

const TONES = { failed: 'text-bad', waits: 'text-wait', progress: '', none: 'text-soft' } as const

function SaysLine({ pod }: { pod: Pod }) {
  const t = useT()
  const says = saysOf(pod)
  const name = pod.failureClass ? classText(pod.failureClass) : null
  const kind = name ? t(name) : pod.failureClass
  const line = kind && says.text ? `${kind}: ${says.text}` : kind || says.text
  const percent = percentOf(pod)
  if (!line && percent === null) return <span className="hidden text-soft md:inline">–</span>
  return (
    <span className="flex min-w-0 items-center gap-2">
      {percent !== null && <Progress name={pod.pod} percent={percent} />}
      <span title={line} className={`line-clamp-2 min-w-0 wrap-anywhere md:block md:truncate ${TONES[says.kind]}`}>
        {line}
      </span>
    </span>
  )
}

function Progress({ name, percent }: { name: string; percent: number }) {
  const t = useT()
  return (
    <>
      <span role="progressbar" aria-label={`${t('Progress')}: ${name}`} aria-valuenow={percent} aria-valuemin={0} aria-valuemax={100} className="h-1.5 w-16 shrink-0 overflow-clip rounded-full bg-idle-soft">
        <span className="block h-full bg-run" style={{ width: `${percent}%` }} />
      </span>
      <span className="text-xs tabular-nums">{percent}%</span>
    </>
  )
}
