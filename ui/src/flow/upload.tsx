/** A new version from JSON or YAML; what is wrong with it is shown at the line where it is wrong. */
import { useNavigate } from '@tanstack/react-router'
import { useMemo, useState } from 'react'

import { useAct } from '@/api/actions'
import { ApiError, call, type Send } from '@/api/client'
import type { Problem, Published, Valid } from '@/api/types'
import { isWorkflow } from '@/graph/definition'
import { useT } from '@/i18n'
import { Button, Field, Input } from '@/parts/basics'
import { Code } from '@/parts/code'
import { Dialog } from '@/parts/dialog'

import { isJson, lineOf } from './places'

interface Props {
  name?: string
  start?: unknown
  onClose: () => void
}

/** How a text is sent: JSON wrapped in a body, YAML as it is. Throws what a JSON reader throws. */
function sendOf(text: string): Send {
  if (!isJson(text)) return { method: 'POST', yaml: text }
  const definition = JSON.parse(text) as unknown
  return { body: isWorkflow(definition) ? { definition, dialect: 'workflow' } : { definition } }
}

export function UploadDialog({ name, start, onClose }: Props) {
  const t = useT()
  const act = useAct()
  const navigate = useNavigate()
  const [flow, setFlow] = useState(name ?? '')
  const [text, setText] = useState(start ? JSON.stringify(start, null, 2) : '')
  const [problems, setProblems] = useState<Problem[]>([])
  const [valid, setValid] = useState<Valid | null>(null)
  const check = async (): Promise<boolean> => {
    setValid(null)
    try {
      setValid(await call<Valid>('flows/validate', sendOf(text)))
      setProblems([])
      return true
    } catch (error) {
      const found = error instanceof ApiError ? error.problems : []
      setProblems(found.length ? found : [{ path: '', reason: (error as Error).message, hint: '' }])
      return false
    }
  }
  const publish = async () => {
    if (!(await check())) return
    const path = `flows/${encodeURIComponent(flow.trim())}/versions`
    const done = await act(call<Published>(path, sendOf(text)), '', 'flows', 'versions')
    if (!done) return
    onClose()
    void navigate({ to: '/flows/$name', params: { name: done.flow }, search: { version: done.version } })
  }
  // What was said of the former text is not true of this one.
  const change = (next: string) => {
    setText(next)
    setProblems([])
    setValid(null)
  }
  const bad = useMemo(() => problems.map((problem) => lineOf(text, problem.path)), [problems, text])
  const open = async (file: File | undefined) => {
    if (!file) return
    change(await file.text())
    if (!flow) setFlow(file.name.replace(/\.[^.]*$/, ''))
  }
  return (
    <Dialog title={name ? t('New version') : t('Upload')} wide onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          void publish()
        }}
      >
        {!name && (
          <Field label={t('Flow')}>
            {(id) => <Input id={id} required value={flow} onChange={(event) => setFlow(event.target.value)} />}
          </Field>
        )}
        <Field label={t('File')}>
          {(id) => <Input id={id} type="file" accept=".json,.yaml,.yml" onChange={(event) => void open(event.target.files?.[0])} />}
        </Field>
        <p aria-hidden="true" className="mb-1 text-sm font-medium">
          {t('Definition (JSON or YAML)')}
        </p>
        <Code
          text={text}
          language={!text.trim() || isJson(text) ? 'json' : 'yaml'}
          label={t('Definition (JSON or YAML)')}
          bad={bad}
          className="mb-3 h-72 rounded border border-line bg-sunk [&>.cm-editor]:h-full"
          onChange={change}
        />
        {problems.length > 0 && (
          <ul role="alert" className="mb-3 max-h-40 overflow-auto rounded border border-bad bg-bad-soft p-2 text-sm">
            {problems.map((problem, at) => (
              <li key={at}>
                <b className="text-bad">
                  {t('line {n}', { n: lineOf(text, problem.path) })} {problem.path}
                </b>
                : {problem.reason} {problem.hint && <span className="text-soft">({problem.hint})</span>}
              </li>
            ))}
          </ul>
        )}
        {valid && (
          <p role="status" className="mb-3 text-sm text-ok">
            {t('{nodes} nodes; parameters: {params}', { nodes: valid.nodes, params: valid.params.join(', ') || '–' })}
          </p>
        )}
        <div className="flex justify-end gap-2">
          <Button onClick={() => void check()} disabled={!text.trim()}>
            {t('Check')}
          </Button>
          <Button type="submit" look="main" disabled={!text.trim() || !flow.trim()}>
            {t('Publish')}
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
