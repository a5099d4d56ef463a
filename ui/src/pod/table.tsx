/** A line for each pod: whose it is, how far it has come, and what is to be known of it. */
import { Link } from '@tanstack/react-router'

import type { Pod } from '@/api/types'
import { asWritten } from '@/graph/names'
import { type Translate, useT } from '@/i18n'
import { Chip } from '@/parts/basics'
import { Ago } from '@/parts/clock'
import { Status } from '@/parts/status'
import { type Column, Table } from '@/parts/table'

import { shownState } from './pods'
import { SaysLine } from './says'

interface Props {
  pods: readonly Pod[]
  /** The attempt whose pod is shown beside the table, which has less room then. */
  shown?: string
}

export function PodTable({ pods, shown }: Props) {
  const t = useT()
  const beside = shown !== undefined
  return (
    <Table
      label={t('Pods')}
      rows={pods}
      keyOf={(one) => one.attemptId}
      rowProps={(one) => ({ 'data-pod': one.pod, className: one.attemptId === shown ? 'bg-accent-soft' : '' })}
      columns={[
        { head: t('Pod'), cell: (one) => <Name pod={one} /> },
        { head: t('Status'), cell: (one) => <Status state={shownState(one)} /> },
        { head: t('Since'), wide: true, cell: (one) => <Ago at={one.since} /> },
        { head: t('Details'), wide: true, grows: true, cell: (one) => <SaysLine pod={one} /> },
        ...(beside ? [] : whose(t)),
      ]}
    />
  )
}

/** Whose it is, left to the details while those are shown. */
function whose(t: Translate): Column<Pod>[] {
  return [
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
  ]
}

/** Its name opens it beside the table; a narrow page has the rest below it. */
function Name({ pod }: { pod: Pod }) {
  return (
    <span className="block max-w-[13rem] py-1 md:max-w-none md:py-0">
      <Link
        to="/pods"
        search={(old) => ({ ...old, id: pod.attemptId })}
        replace
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
      {asWritten(pod.node)} <span className="text-xs text-soft">#{pod.number}</span>
    </>
  )
}

/** An image without the host it comes from, which all of them share; whole when pointed at. */
function Image({ name }: { name: string }) {
  if (!name) return <span className="text-soft">–</span>
  return <Chip title={name}>{name.split('/').at(-1)}</Chip>
}
