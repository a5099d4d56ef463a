/** Tokens: made, shown once, revoked. */
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'

import { useAct } from '@/api/actions'
import { call } from '@/api/client'
import { infoQuery, tokensQuery } from '@/api/queries'
import { useT } from '@/i18n'
import { Button, Field, FIELD, Input, Panel } from '@/parts/basics'
import { Time } from '@/parts/clock'
import { CopyButton } from '@/parts/copy'

import { isDenied, NotForYou } from './denied'

export function Tokens() {
  const roles = useQuery(infoQuery).data?.roles ?? []
  const t = useT()
  const act = useAct()
  const tokens = useQuery(tokensQuery)
  const [name, setName] = useState('')
  const [role, setRole] = useState('viewer')
  const [workers, setWorkers] = useState('')
  const [made, setMade] = useState('')
  if (isDenied(tokens.error)) return <NotForYou />
  const create = async () => {
    const body = role === 'worker' ? { name, role, workers } : { name, role }
    const done = await act(call<{ token: string }>('tokens', { body }), t('Token made'), 'tokens')
    if (!done) return
    setMade(done.token)
    setName('')
  }
  const revoke = (id: string) =>
    void act(call(`tokens/${encodeURIComponent(id)}`, { method: 'DELETE' }), t('Token revoked'), 'tokens')
  return (
    <Panel title={t('Tokens')}>
      <form
        className="flex flex-wrap items-end gap-2 px-3 pt-3"
        onSubmit={(event) => {
          event.preventDefault()
          void create()
        }}
      >
        <Field label={t('Name')}>
          {(id) => <Input id={id} required value={name} onChange={(event) => setName(event.target.value)} />}
        </Field>
        <Field label={t('Role')}>
          {(id) => (
            <select id={id} className={`${FIELD} w-full`} value={role} onChange={(event) => setRole(event.target.value)}>
              {roles.map((one) => (
                <option key={one}>{one}</option>
              ))}
            </select>
          )}
        </Field>
        {role === 'worker' && (
          <Field label={t('Only for worker')}>
            {(id) => (
              <Input id={id} placeholder="crawler-*" value={workers} onChange={(event) => setWorkers(event.target.value)} />
            )}
          </Field>
        )}
        <div className="mb-3">
          <Button type="submit" look="main">
            {t('Make a token')}
          </Button>
        </div>
      </form>
      {made && (
        <p role="status" className="mx-3 mb-3 flex flex-wrap items-center gap-2 rounded-lg bg-ok-soft p-2 text-sm">
          {t('Shown this once:')} <code className="break-all">{made}</code> <CopyButton text={made} />
        </p>
      )}
      <ul>
        {tokens.data?.items.map((token) => (
          <li key={token.id} className="flex flex-wrap items-center gap-3 border-t border-line px-3 py-2 text-sm">
            <b>{token.name}</b>
            <span className="rounded bg-sunk px-1.5 text-xs">{token.workers ? `${token.role} ${token.workers}` : token.role}</span>
            <span className="mr-auto text-xs text-soft">
              <Time at={token.createdAt} />
              {token.expiresAt && (
                <>
                  {' '}
                  · {t('expires')} <Time at={token.expiresAt} />
                </>
              )}
            </span>
            {token.revokedAt ? (
              <span className="text-soft">{t('revoked')}</span>
            ) : (
              <Button look="danger" onClick={() => revoke(token.id)}>
                {t('Revoke')}
              </Button>
            )}
          </li>
        ))}
        {tokens.data?.items.length === 0 && <li className="p-3 text-sm text-soft">{t('No tokens yet.')}</li>}
      </ul>
    </Panel>
  )
}
