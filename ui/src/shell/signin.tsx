/** Asks for a token when the server wants one; it is kept until the tab is closed. */
import { useState } from 'react'

import { call, setToken } from '@/api/client'
import { useT } from '@/i18n'
import { Button, Field, Input } from '@/parts/basics'

export function SignIn() {
  const t = useT()
  const [token, setText] = useState('')
  const [problem, setProblem] = useState('')
  const submit = async () => {
    try {
      await call('runs', { query: { limit: 1 }, token: token.trim() })
      setToken(token.trim())
      window.windlass.signedIn()
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error))
    }
  }
  return (
    <main className="mx-auto flex min-h-full max-w-md flex-col justify-center p-6">
      <h1 className="mb-4 text-2xl font-bold">Windlass</h1>
      <form
        className="rounded-lg border border-line bg-panel p-5"
        onSubmit={(event) => {
          event.preventDefault()
          void submit()
        }}
      >
        <Field label={t('Token')} hint={t('It stays in this tab and is forgotten when you close it.')}>
          {(id) => (
            <Input
              id={id}
              type="password"
              autoComplete="off"
              autoFocus
              required
              value={token}
              onChange={(event) => setText(event.target.value)}
            />
          )}
        </Field>
        {problem && (
          <p role="alert" className="mb-3 text-sm text-bad">
            ✗ {problem}
          </p>
        )}
        <Button type="submit" look="main">
          {t('Sign in')}
        </Button>
        <p className="mt-4 text-xs text-soft">
          {t('No token yet? An administrator makes one:')} <code>windlass token create NAME --role operator</code>
        </p>
      </form>
    </main>
  )
}
