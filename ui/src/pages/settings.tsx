/** Settings: how the UI looks in this browser, and the server's tokens. */
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'

import { useAct } from '@/api/actions'
import { ApiError, call, getToken, signOut } from '@/api/client'
import { infoQuery, tokensQuery } from '@/api/queries'
import { useT } from '@/i18n'
import { Button, Choices, Field, FIELD, Input, PageHead, Panel } from '@/parts/basics'
import { Time } from '@/parts/clock'
import { CopyButton } from '@/parts/copy'
import { useTitle } from '@/parts/title'
import { setPrefs, usePrefs } from '@/prefs'

export function SettingsPage() {
  const t = useT()
  useTitle(t('Settings'))
  const info = useQuery(infoQuery)
  return (
    <>
      <PageHead title={t('Settings')}>
        {getToken() && <Button onClick={signOut}>{t('Sign out')}</Button>}
      </PageHead>
      <div className="grid items-start gap-x-4 xl:grid-cols-2">
        <Looks />
        <Panel title={t('Server')}>
          <dl className="grid grid-cols-[auto_1fr] gap-x-4 gap-y-1 p-3 text-sm">
            <dt className="text-soft">{t('Version')}</dt>
            <dd>{info.data?.version}</dd>
            <dt className="text-soft">{t('Store')}</dt>
            <dd>{info.data?.store}</dd>
            <dt className="text-soft">{t('Lease')}</dt>
            <dd>{info.data?.leaseS} s</dd>
            <dt className="text-soft">{t('Tokens')}</dt>
            <dd>{info.data?.auth ? t('required') : t('not required: only this machine is served')}</dd>
          </dl>
        </Panel>
      </div>
      <Tokens roles={info.data?.roles ?? []} />
    </>
  )
}

function Looks() {
  const t = useT()
  const prefs = usePrefs()
  const row = 'flex flex-wrap items-center justify-between gap-2 border-b border-line px-3 py-2.5 last:border-0'
  return (
    <Panel title={t('This browser')}>
      <div className={row}>
        <span>{t('Theme')}</span>
        <Choices
          label={t('Theme')}
          value={prefs.theme}
          choices={[
            { id: 'system', text: t('System') },
            { id: 'light', text: t('Light') },
            { id: 'dark', text: t('Dark') },
          ]}
          onChange={(theme) => setPrefs({ theme })}
        />
      </div>
      <div className={row}>
        <span>{t('Times')}</span>
        <Choices
          label={t('Times')}
          value={prefs.zone}
          choices={[
            { id: 'local', text: t('Local time') },
            { id: 'utc', text: 'UTC' },
            { id: 'relative', text: t('Relative') },
          ]}
          onChange={(zone) => setPrefs({ zone })}
        />
      </div>
      <div className={row}>
        <span>{t('Language')}</span>
        <Choices
          label={t('Language')}
          value={prefs.language}
          choices={[
            { id: 'en', text: 'English' },
            { id: 'zh', text: '中文' },
          ]}
          onChange={(language) => setPrefs({ language })}
        />
      </div>
      <label className={row}>
        <span>{t('Single-key shortcuts')}</span>
        <input type="checkbox" className="size-4" checked={prefs.keys} onChange={(event) => setPrefs({ keys: event.target.checked })} />
      </label>
    </Panel>
  )
}

function Tokens({ roles }: { roles: string[] }) {
  const t = useT()
  const act = useAct()
  const tokens = useQuery(tokensQuery)
  const [name, setName] = useState('')
  const [role, setRole] = useState('viewer')
  const [workers, setWorkers] = useState('')
  const [made, setMade] = useState('')
  if (tokens.error instanceof ApiError && tokens.error.status === 403) return null
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
        <p role="status" className="mx-3 mb-3 flex flex-wrap items-center gap-2 rounded border border-ok bg-ok-soft p-2 text-sm">
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
