/** Asks who it is when the server wants to know: a name and password, or a token. */
import { useState } from 'react'

import { call } from '@/api/client'
import { useT } from '@/i18n'
import { Button, Field, Input } from '@/parts/basics'

import { signIn, takeToken } from './session'

export function SignIn() {
  const t = useT()
  return (
    <main className="mx-auto flex min-h-full max-w-md flex-col justify-center p-6">
      <h1 className="mb-4 text-2xl font-bold">
        <span aria-hidden="true" className="text-accent">
          ⊕{' '}
        </span>
        Windlass
      </h1>
      <div className="rounded-lg border border-line bg-panel">
        <ByName />
        <ByToken />
      </div>
      <p className="mt-3 text-xs text-soft">{t('It stays in this tab and is forgotten when you close it.')}</p>
    </main>
  )
}

/** A form that says what went wrong with it. */
function useForm(work: () => Promise<void>) {
  const [problem, setProblem] = useState('')
  const [busy, setBusy] = useState(false)
  const onSubmit = (event: React.FormEvent) => {
    event.preventDefault()
    setBusy(true)
    setProblem('')
    work()
      .catch((error: unknown) => setProblem(error instanceof Error ? error.message : String(error)))
      .finally(() => setBusy(false))
  }
  const said = problem && (
    <p role="alert" className="mb-3 text-sm text-bad">
      ✗ {problem}
    </p>
  )
  return { onSubmit, busy, said }
}

function ByName() {
  const t = useT()
  const [name, setName] = useState('')
  const [password, setPassword] = useState('')
  const form = useForm(() => signIn(name.trim(), password))
  return (
    <form className="p-5" onSubmit={form.onSubmit}>
      <Field label={t('User name')}>
        {(id) => <Input id={id} autoComplete="username" autoFocus required value={name} onChange={(event) => setName(event.target.value)} />}
      </Field>
      <Field label={t('Password')}>
        {(id) => (
          <Input id={id} type="password" autoComplete="current-password" required value={password} onChange={(event) => setPassword(event.target.value)} />
        )}
      </Field>
      {form.said}
      <Button type="submit" look="main" disabled={form.busy}>
        {t('Sign in')}
      </Button>
    </form>
  )
}

function ByToken() {
  const t = useT()
  const [token, setText] = useState('')
  const form = useForm(async () => {
    await call('runs', { query: { limit: 1 }, token: token.trim() })
    takeToken(token.trim())
  })
  return (
    <form className="border-t border-line p-5" onSubmit={form.onSubmit}>
      <Field label={t('Token')}>
        {(id) => <Input id={id} type="password" autoComplete="off" required value={token} onChange={(event) => setText(event.target.value)} />}
      </Field>
      {form.said}
      <Button type="submit" disabled={form.busy}>
        {t('Use the token')}
      </Button>
      <p className="mt-4 text-xs text-soft">
        {t('No token yet? An administrator makes one:')} <code>windlass token create NAME --role operator</code>
      </p>
    </form>
  )
}
