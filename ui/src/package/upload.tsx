/** Publish a `.cwx`: by picking it or dropping it, with what is wrong in it said here. */
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'

import { useAct } from '@/api/actions'
import { ApiError, call } from '@/api/client'
import type { Problem, PublishedPackage } from '@/api/types'
import { useT } from '@/i18n'
import { Button, Field } from '@/parts/basics'
import { Dialog } from '@/parts/dialog'
import { formatBytes } from '@/parts/size'

export function UploadPackage({ file: given, onClose }: { file?: File; onClose: () => void }) {
  const t = useT()
  const act = useAct()
  const navigate = useNavigate()
  const [file, setFile] = useState(given)
  const [busy, setBusy] = useState(false)
  const [over, setOver] = useState(false)
  const [problems, setProblems] = useState<Problem[]>([])
  const choose = (next: File | undefined) => {
    setProblems([])
    if (next) setFile(next)
  }
  const publish = async () => {
    if (!file) return
    setBusy(true)
    setProblems([])
    try {
      const done = await call<PublishedPackage>('published-packages', { file })
      const said = done.created ? t('{name} published', { name: `${done.name} ${done.version}` }) : t('This very archive was published before.')
      await act(Promise.resolve(done), said, 'packages', 'package')
      onClose()
      void navigate({ to: '/packages/$name', params: { name: done.name }, search: { version: done.version } })
    } catch (error) {
      const found = error instanceof ApiError ? error.problems : []
      setProblems(found.length ? found : [{ path: '', reason: (error as Error).message, hint: '' }])
    }
    setBusy(false)
  }
  return (
    <Dialog title={t('Upload a package')} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          void publish()
        }}
      >
        <div
          onDragOver={(event) => {
            event.preventDefault()
            setOver(true)
          }}
          onDragLeave={() => setOver(false)}
          onDrop={(event) => {
            event.preventDefault()
            event.stopPropagation()
            setOver(false)
            choose(event.dataTransfer.files[0])
          }}
          className={`mb-3 rounded border-2 border-dashed p-4 ${over ? 'border-accent bg-accent-soft' : 'border-edge'}`}
        >
          <Field label={t('Archive (.cwx)')} hint={t('Made by windlass pkg build; drop it here or pick it.')}>
            {(id) => (
              <input id={id} type="file" accept=".cwx,.zip" className="w-full text-sm" onChange={(event) => choose(event.target.files?.[0])} />
            )}
          </Field>
          {file && (
            <p role="status" className="text-sm break-all">
              {file.name} · {formatBytes(file.size)}
            </p>
          )}
        </div>
        {problems.length > 0 && (
          <ul role="alert" className="mb-3 max-h-40 overflow-auto rounded border border-bad bg-bad-soft p-2 text-sm">
            {problems.map((problem, at) => (
              <li key={at} className="break-words">
                <b className="text-bad">{problem.path}</b> {problem.reason}{' '}
                {problem.hint && <span className="text-soft">({problem.hint})</span>}
              </li>
            ))}
          </ul>
        )}
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>{t('Back')}</Button>
          <Button type="submit" look="main" disabled={!file || busy}>
            {busy ? t('Publishing…') : t('Publish')}
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
