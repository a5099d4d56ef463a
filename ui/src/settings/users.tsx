/** Users: added, given roles, disabled. */
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'

import { useAct } from '@/api/actions'
import { peopleQuery, userPath } from '@/api/people'
import { call } from '@/api/client'
import type { User } from '@/api/types'
import { useT } from '@/i18n'
import { Button, Chip, Field, FIELD, Input, Panel, Skeleton } from '@/parts/basics'
import { Confirm, Dialog } from '@/parts/dialog'
import { Failed } from '@/parts/feedback'
import { Status } from '@/parts/status'
import { Table } from '@/parts/table'

import { isDenied, NotForYou } from './denied'

/** What people can be; tokens have roles of their own. */
const ROLES = ['run.viewer', 'workflow.viewer', 'workflow.editor', 'admin']

export function Users() {
  const t = useT()
  const act = useAct()
  const users = useQuery(peopleQuery)
  const [adding, setAdding] = useState(false)
  const [asked, setAsked] = useState<User | null>(null)
  if (isDenied(users.error)) return <NotForYou />
  if (users.error && !users.data) return <Failed error={users.error} retry={() => void users.refetch()} />
  if (!users.data) return <Skeleton />
  const setActive = (user: User, isActive: boolean) => {
    setAsked(null)
    void act(call(userPath(user, 'status'), { method: 'PATCH', body: { isActive } }), isActive ? t('User enabled') : t('User disabled'), 'users')
  }
  return (
    <Panel
      title={t('Users')}
      action={
        <Button icon="add" onClick={() => setAdding(true)}>
          {t('Add a user')}
        </Button>
      }
    >
      <Table
        label={t('Users')}
        rows={users.data.items}
        keyOf={(user) => user.userId}
        rowProps={(user) => ({ 'data-user': user.username })}
        columns={[
          { head: t('User name'), cell: (user) => <span className="font-medium">{user.username}</span> },
          { head: t('Name'), wide: true, grows: true, cell: (user) => <span className="text-soft">{user.displayName}</span> },
          { head: t('Roles'), cell: (user) => <Roles roles={user.roles} /> },
          { head: t('Tenant'), wide: true, cell: (user) => user.tenant },
          { head: t('Status'), cell: (user) => <Status state={user.isActive ? 'active' : 'disabled'} /> },
          {
            head: '',
            cell: (user) =>
              user.isActive ? (
                <Button look="danger" aria-label={t('Disable {what}', { what: user.username })} onClick={() => setAsked(user)}>
                  {t('Disable')}
                </Button>
              ) : (
                <Button aria-label={t('Enable {what}', { what: user.username })} onClick={() => setActive(user, true)}>
                  {t('Enable')}
                </Button>
              ),
          },
        ]}
      />
      {users.data.items.length === 0 && <p className="px-3 py-4 text-sm text-soft">{t('No users yet: everybody uses a token.')}</p>}
      {adding && <AddUser onClose={() => setAdding(false)} />}
      {asked && (
        <Confirm title={t('Disable {what}', { what: asked.username })} action={t('Disable')} danger onClose={() => setAsked(null)} onConfirm={() => setActive(asked, false)}>
          {t('Their sessions end within seconds; what they did stays.')}
        </Confirm>
      )}
    </Panel>
  )
}

function Roles({ roles }: { roles: readonly string[] }) {
  return (
    <span className="flex gap-1">
      {roles.map((role) => (
        <Chip key={role}>{role}</Chip>
      ))}
    </span>
  )
}

function AddUser({ onClose }: { onClose: () => void }) {
  const t = useT()
  const act = useAct()
  const [username, setUsername] = useState('')
  const [displayName, setDisplayName] = useState('')
  const [password, setPassword] = useState('')
  const [role, setRole] = useState('run.viewer')
  const add = async () => {
    const body = { username: username.trim(), displayName, password, roles: [role] }
    if (await act(call('users', { body }), t('User added'), 'users')) onClose()
  }
  const field = (label: string, value: string, set: (value: string) => void, type = 'text') => (
    <Field label={label}>
      {(id) => <Input id={id} type={type} autoComplete="off" required={type === 'password' || label === t('User name')} value={value} onChange={(event) => set(event.target.value)} />}
    </Field>
  )
  return (
    <Dialog title={t('Add a user')} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          void add()
        }}
      >
        {field(t('User name'), username, setUsername)}
        {field(t('Name'), displayName, setDisplayName)}
        {field(t('Password'), password, setPassword, 'password')}
        <Field label={t('Role')}>
          {(id) => (
            <select id={id} className={`${FIELD} w-full`} value={role} onChange={(event) => setRole(event.target.value)}>
              {ROLES.map((one) => (
                <option key={one}>{one}</option>
              ))}
            </select>
          )}
        </Field>
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>{t('Back')}</Button>
          <Button type="submit" look="main">
            {t('Add')}
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
