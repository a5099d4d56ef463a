/** Start a run: a flow, and a field for each parameter it uses. */
import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'

import { startWorkflow, useAct } from '@/api/actions'
import { call } from '@/api/client'
import { flowsQuery, versionQuery } from '@/api/queries'
import type { Started, Valid } from '@/api/types'
import { paramsOf } from '@/flow/params'
import { isWorkflow } from '@/graph/definition'
import { useT } from '@/i18n'
import { Button, Field, FIELD, Input } from '@/parts/basics'
import { Dialog } from '@/parts/dialog'
import { Empty } from '@/parts/feedback'
import { useCanAct, useMayAct } from '@/shell/health'

export function NewRunButton({ flow, version }: { flow?: string; version?: number }) {
  const t = useT()
  const canAct = useCanAct()
  const mayAct = useMayAct()
  const [open, setOpen] = useState(false)
  if (!mayAct) return null
  return (
    <>
      <Button icon="start_run" look="main" disabled={!canAct} onClick={() => setOpen(true)}>
        {t('New run')}
      </Button>
      {open && <StartDialog flow={flow} version={version} onClose={() => setOpen(false)} />}
    </>
  )
}

/** A workflow brings everything along that it needs, so it simply starts. */
export function StartWorkflowButton({ definition }: { definition: unknown }) {
  const t = useT()
  const act = useAct()
  const navigate = useNavigate()
  const canAct = useCanAct()
  const mayAct = useMayAct()
  if (!mayAct) return null
  const start = async () => {
    const started = await act(startWorkflow(definition), t('Run started'), 'runs', 'stats')
    if (started) void navigate({ to: '/runs/$id', params: { id: started.runId } })
  }
  return (
    <Button icon="start_run" look="main" disabled={!canAct} onClick={() => void start()}>
      {t('Start run')}
    </Button>
  )
}

function StartDialog({ flow, version, onClose }: { flow?: string; version?: number; onClose: () => void }) {
  const t = useT()
  const act = useAct()
  const navigate = useNavigate()
  const flows = useQuery({ ...flowsQuery(''), enabled: !flow })
  const [picked, setPicked] = useState('')
  const name = flow ?? (picked || flows.data?.items[0]?.name || '')
  const latest = flows.data?.items.find((one) => one.name === name)?.latest ?? 0
  const number = version ?? latest
  const definition = useQuery(versionQuery(name, number)).data?.definition
  const workflow = isWorkflow(definition)
  const used = useParams(name, number, workflow ? undefined : definition)
  const [fields, setFields] = useState<Record<string, string>>({})
  const [more, setMore] = useState('')
  const { params, problem } = paramsOf(fields, more)
  const start = async () => {
    const body = { flow: name, version: number, params }
    const work = workflow ? startWorkflow(definition).then((done) => done.runId) : call<Started>('runs', { body }).then((done) => done.id)
    const id = await act(work, t('Run started'), 'runs', 'stats')
    if (!id) return
    onClose()
    void navigate({ to: '/runs/$id', params: { id } })
  }
  if (!flow && flows.data?.items.length === 0) {
    return (
      <Dialog title={t('New run')} onClose={onClose}>
        <Empty title={t('No flows yet. Push one:')} command="windlass flow push FILE" />
      </Dialog>
    )
  }
  return (
    <Dialog title={t('New run')} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          if (!problem) void start()
        }}
      >
        {flow ? (
          <p className="mb-3">
            {flow} · {t('version {n}', { n: number })}
          </p>
        ) : (
          <Field label={t('Flow')}>
            {(id) => (
              <select id={id} className={`${FIELD} w-full`} value={name} onChange={(event) => setPicked(event.target.value)}>
                {flows.data?.items.map((one) => <option key={one.id}>{one.name}</option>)}
              </select>
            )}
          </Field>
        )}
        {used.map((param) => (
          <Field key={param} label={param} hint={t('JSON, or plain text')}>
            {(id) => (
              <Input
                id={id}
                className="font-mono"
                value={fields[param] ?? ''}
                onChange={(event) => setFields({ ...fields, [param]: event.target.value })}
              />
            )}
          </Field>
        ))}
        {!workflow && (
          <Field label={t('More parameters (JSON object)')}>
            {(id) => (
              <textarea
                id={id}
                rows={3}
                aria-invalid={problem !== ''}
                className={`${FIELD} w-full font-mono`}
                value={more}
                onChange={(event) => setMore(event.target.value)}
              />
            )}
          </Field>
        )}
        {problem && (
          <p role="alert" className="mb-3 text-sm text-bad">
            {problem}
          </p>
        )}
        <Button icon="start_run" type="submit" look="main" disabled={!name || problem !== ''}>
          {t('Start')}
        </Button>
      </form>
    </Dialog>
  )
}

/** The parameters a version reads, as the server finds them in its definition. */
function useParams(flow: string, version: number, definition: unknown): string[] {
  const valid = useQuery({
    queryKey: ['params', flow, version],
    queryFn: () => call<Valid>('flows/validate', { body: { definition } }),
    enabled: definition !== undefined,
    staleTime: Infinity,
  })
  return valid.data?.params ?? []
}
