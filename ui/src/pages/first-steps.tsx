/** A new server: what to do next, ticked off as it happens. */
import { useQuery } from '@tanstack/react-query'

import { flowsQuery } from '@/api/queries'
import type { Stats } from '@/api/types'
import { useT } from '@/i18n'
import { Panel } from '@/parts/basics'
import { CopyButton } from '@/parts/copy'
import { StatusIcon } from '@/parts/status'

export function FirstSteps({ stats }: { stats: Stats }) {
  const t = useT()
  const flows = useQuery(flowsQuery(''))
  const steps = [
    { done: (stats.workers.online ?? 0) > 0, text: t('Connect a worker'), command: 'windlass worker builtin --server $URL' },
    { done: (flows.data?.items.length ?? 0) > 0, text: t('Push a flow'), command: 'windlass flow push examples/flows/16-queue.json' },
    { done: false, text: t('Run it'), command: 'windlass run start 16-queue -p text=hello --watch' },
  ].map((step) => ({ ...step, command: step.command.replace('$URL', new URL('.', document.baseURI).href) }))
  return (
    <Panel title={t('First steps')}>
      <ol>
        {steps.map((step) => (
          <li key={step.text} className="flex flex-wrap items-center gap-3 border-b border-line px-3 py-2.5 last:border-0">
            <span data-done={step.done}>
              <StatusIcon state={step.done ? 'succeeded' : 'queued'} />
            </span>
            <span className="w-40">{step.text}</span>
            <code className="min-w-0 flex-1 overflow-x-auto rounded bg-sunk px-2 py-1 font-mono text-xs whitespace-nowrap" tabIndex={0}>
              {step.command}
            </code>
            <CopyButton text={step.command} />
          </li>
        ))}
      </ol>
    </Panel>
  )
}
