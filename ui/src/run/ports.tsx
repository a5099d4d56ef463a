/** What went through a node's ports, by the ports' names. */
import { useQuery } from '@tanstack/react-query'

import { packageQuery } from '@/api/queries'
import type { Task } from '@/api/types'
import { useT } from '@/i18n'
import { type Port, readManifest, readNode, valueAt } from '@/package/manifest'

interface Props {
  task: Task
  /** The node as the workflow writes it. */
  node: Record<string, unknown>
}

export function Ports({ task, node }: Props) {
  const t = useT()
  const pack = (typeof node.package === 'object' && node.package !== null ? node.package : {}) as { name?: string; version?: string }
  const own = readNode(node)
  const known = own.inputs.length + own.outputs.length > 0
  const found = useQuery({ ...packageQuery(pack.name ?? '', pack.version ?? ''), enabled: !known && !!pack.name })
  // A workflow may leave the ports to the package.
  const template = known ? own : readManifest(found.data?.manifest).nodes.find((one) => one.type === own.type)
  if (!template || template.inputs.length + template.outputs.length === 0) return null
  return (
    <div className="grid gap-2 sm:grid-cols-2">
      <Side title={t('Input ports')} ports={template.inputs} data={task.input} />
      <Side title={t('Output ports')} ports={template.outputs} data={task.output} />
    </div>
  )
}

function Side({ title, ports, data }: { title: string; ports: readonly Port[]; data: unknown }) {
  return (
    <section className="min-w-0 rounded border border-line p-2">
      <h3 className="mb-1 text-xs font-semibold text-soft">{title}</h3>
      {ports.length === 0 && <span className="text-xs text-soft">–</span>}
      <dl className="text-xs">
        {ports.map((port) => (
          <div key={port.key} data-port={port.key} className="mb-1">
            <dt className="text-soft">{port.label || port.key}</dt>
            <dd className="max-h-24 overflow-auto font-mono break-all">{shown(valueAt(data, port.path))}</dd>
          </div>
        ))}
      </dl>
    </section>
  )
}

function shown(value: unknown): string {
  if (value === undefined) return '–'
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '–')
  return text.length > 300 ? `${text.slice(0, 300)}…` : text
}
