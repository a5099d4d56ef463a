/** The nodes a package brings: ports, parameters and results. */
import { useT } from '@/i18n'
import { Panel } from '@/parts/basics'

import { fieldsOf, type NodeTemplate, type Port } from './manifest'

export function NodeTemplates({ nodes }: { nodes: readonly NodeTemplate[] }) {
  const t = useT()
  return (
    <Panel title={`${t('Nodes')} (${nodes.length})`}>
      {nodes.length === 0 && <p className="p-3 text-sm text-soft">–</p>}
      {nodes.map((node) => (
        <details key={node.type} className="border-b border-line px-3 py-2 last:border-0">
          <summary className="text-sm">
            <b>{node.label}</b> <code className="font-mono text-xs text-soft">{node.type}</code>
            {node.role !== 'node' && <span className="ml-1 rounded bg-wait-soft px-1.5 text-xs text-wait">{node.role}</span>}
            <span className="block pl-4 text-xs text-soft">{node.description}</span>
          </summary>
          <div className="mt-2 grid gap-3 pl-4 md:grid-cols-2">
            <Ports title={t('Input ports')} ports={node.inputs} />
            <Ports title={t('Output ports')} ports={node.outputs} />
            <Schema title={t('Parameters')} schema={node.parameters} />
            <Schema title={t('Results')} schema={node.results} />
          </div>
        </details>
      ))}
    </Panel>
  )
}

function Ports({ title, ports }: { title: string; ports: readonly Port[] }) {
  return (
    <section>
      <h3 className="mb-1 text-xs font-semibold text-soft">{title}</h3>
      {ports.length === 0 && <span className="text-xs text-soft">–</span>}
      <ul className="text-xs">
        {ports.map((port) => (
          <li key={port.key}>
            <b>{port.label || port.key}</b> <code className="font-mono break-all text-soft">{port.path || port.key}</code>
          </li>
        ))}
      </ul>
    </section>
  )
}

function Schema({ title, schema }: { title: string; schema: unknown }) {
  const t = useT()
  const fields = fieldsOf(schema)
  return (
    <section>
      <h3 className="mb-1 text-xs font-semibold text-soft">{title}</h3>
      {fields.length === 0 && <span className="text-xs text-soft">–</span>}
      <ul className="text-xs">
        {fields.map((field) => (
          <li key={field.name}>
            <b>{field.name}</b> <code className="font-mono break-all text-soft">{field.type}</code>
            {field.required && <span className="text-bad"> {t('required')}</span>}
            {field.standard && <span className="text-soft"> = {field.standard}</span>}
          </li>
        ))}
      </ul>
    </section>
  )
}
