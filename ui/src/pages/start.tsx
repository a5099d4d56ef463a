/** Start a run: a flow, and a field for each parameter it uses. */
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useMemo, useState } from 'react'

import { startWorkflow, useAct } from '@/api/actions'
import { call } from '@/api/client'
import { flowsQuery, runQuery, runsQuery, versionQuery } from '@/api/queries'
import type { Started, Valid } from '@/api/types'
import { asText, type FieldSpec, fieldsOf, typedValue } from '@/flow/fields'
import { paramsOf } from '@/flow/params'
import { SchemaForm } from '@/flow/schema-form'
import { isWorkflow } from '@/graph/definition'
import { useT } from '@/i18n'
import { Button, Field, FIELD, Input } from '@/parts/basics'
import { Code } from '@/parts/code'
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
  const read = useQuery(versionQuery(name, number)).data
  const definition = read?.definition
  const workflow = isWorkflow(definition)
  const declared = useMemo(() => fieldsOf(read?.paramsSchema), [read?.paramsSchema])
  const found = useParams(name, number, workflow ? undefined : definition)
  const used = found.filter((param) => !declared.some((one) => one.name === param))
  const [typed, setTyped] = useState<Record<string, string>>({})
  const [fields, setFields] = useState<Record<string, string>>({})
  const [more, setMore] = useState('')
  const rest = paramsOf(fields, more)
  const params = { ...rest.params, ...typedParams(declared, typed) }
  const { problem } = rest
  const copyLast = (last: Record<string, unknown>) => {
    const known = new Set([...declared.map((one) => one.name), ...used])
    const texts = Object.fromEntries(Object.entries(last).map(([key, value]) => [key, asText(value)]))
    const others = Object.entries(last).filter(([key]) => !known.has(key))
    setTyped(texts)
    setFields(Object.fromEntries(used.map((param) => [param, texts[param] ?? ''])))
    setMore(others.length ? JSON.stringify(Object.fromEntries(others), null, 2) : '')
  }
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
        {!workflow && name && <CopyLast flow={name} onCopy={copyLast} />}
        <SchemaForm fields={declared} values={typed} onChange={(param, text) => setTyped({ ...typed, [param]: text })} />
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
          <>
            <p aria-hidden="true" className="mb-1 text-sm font-medium">
              {t('More parameters (JSON object)')}
            </p>
            <Code text={more} language="json" label={t('More parameters (JSON object)')} className="mb-3 max-h-48 min-h-14 rounded border border-line bg-sunk" onChange={setMore} />
          </>
        )}
        {problem && (
          <p role="alert" className="mb-3 text-sm text-bad">
            {problem}
          </p>
        )}
        <div className="flex justify-end">
          <Button icon="start_run" type="submit" look="main" disabled={!name || problem !== ''}>
            {t('Start')}
          </Button>
        </div>
      </form>
    </Dialog>
  )
}

function typedParams(fields: readonly FieldSpec[], typed: Readonly<Record<string, string>>): Record<string, unknown> {
  const entries = fields.map((field) => [field.name, typedValue(field, typed[field.name] ?? '')] as const)
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined))
}

/** What the newest run of the flow was given, for those who start the same again with a change. */
function CopyLast({ flow, onCopy }: { flow: string; onCopy: (params: Record<string, unknown>) => void }) {
  const t = useT()
  const last = useInfiniteQuery(runsQuery(`flow:"${flow}"`)).data?.pages[0]?.items[0]
  const params = useQuery({ ...runQuery(last?.id ?? ''), enabled: last !== undefined }).data?.params
  if (typeof params !== 'object' || params === null || Object.keys(params).length === 0) return null
  return (
    <div className="mb-3">
      <Button icon="copy" onClick={() => onCopy(params as Record<string, unknown>)}>
        {t('Copy from last run')}
      </Button>
    </div>
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
