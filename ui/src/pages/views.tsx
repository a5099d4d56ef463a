/** Saved views: a filter with columns and an order, under a name. They are kept by the server, so they
 * come along to another browser; what a view shows is in the address as well, so it can be sent. */
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'

import { useAct } from '@/api/actions'
import { call } from '@/api/client'
import { viewsQuery } from '@/api/queries'
import type { SavedView } from '@/api/types'
import { useT } from '@/i18n'
import { Button, Field, IconButton, Input } from '@/parts/basics'
import { Dialog } from '@/parts/dialog'
import { Icon } from '@/parts/icons'
import { Menu, MenuItem } from '@/parts/menu'
import { useCanAct, useMayAct } from '@/shell/health'

/** What of the page a view keeps. */
export interface Shown {
  q: string
  columns: readonly string[]
  sort: string
}

interface Props {
  shown: Shown
  onChoose: (shown: Shown) => void
}

const look = (on: boolean) => `h-6 rounded px-2 text-sm transition-colors ${on ? 'bg-accent-soft font-medium text-accent' : 'text-soft hover:bg-sunk hover:text-text'}`

const same = (a: Shown, b: Shown) => a.q === b.q && a.sort === b.sort && a.columns.join() === b.columns.join()

export function Views({ shown, onChoose }: Props) {
  const t = useT()
  const canAct = useCanAct()
  const kept = useQuery(viewsQuery).data?.items ?? []
  const [naming, setNaming] = useState<SavedView | 'new' | null>(null)
  const given = [
    { name: t('All'), q: '' },
    { name: t('Active'), q: 'status:queued,running,waiting,cancelling' },
    { name: t('Failed today'), q: 'status:failed started:>-24h' },
    { name: t('Waiting'), q: 'status:waiting' },
  ].map((view) => ({ name: view.name, shows: { q: view.q, columns: [], sort: '' } satisfies Shown }))
  const known = given.some((view) => same(view.shows, shown)) || kept.some((view) => same(showsOf(view), shown))
  return (
    <div role="group" aria-label={t('Views')} className="mb-2 flex flex-wrap items-center gap-1.5">
      {given.map((view) => (
        <button key={view.shows.q} type="button" aria-pressed={same(view.shows, shown)} onClick={() => onChoose(view.shows)} className={look(same(view.shows, shown))}>
          {view.name}
        </button>
      ))}
      {kept.map((view) => (
        <Kept key={view.id} view={view} shown={shown} onChoose={onChoose} onRename={() => setNaming(view)} />
      ))}
      {!known && (
        <Button look="quiet" icon="add" disabled={!canAct} onClick={() => setNaming('new')}>
          {t('Save view')}
        </Button>
      )}
      {naming && <NameDialog view={naming === 'new' ? null : naming} shown={shown} kept={kept} onClose={() => setNaming(null)} />}
    </div>
  )
}

function showsOf(view: SavedView): Shown {
  return { q: view.query, columns: view.columns, sort: view.sort }
}

function Kept({ view, shown, onChoose, onRename }: Props & { view: SavedView; onRename: () => void }) {
  const t = useT()
  const act = useAct()
  const canAct = useCanAct()
  const on = same(showsOf(view), shown)
  const path = `views/${view.id}`
  const change = (body: object, done: string) => void act(call(path, { method: 'PATCH', body }), done, 'views')
  return (
    <span data-view={view.name} className="inline-flex items-center">
      <button type="button" aria-pressed={on} onClick={() => onChoose(showsOf(view))} className={`${look(on)} inline-flex items-center gap-1`}>
        {view.name}
        {view.shared && <Icon name="users" size={12} className="text-soft" />}
      </button>
      {view.mine && (
        <Menu label={view.name} align="start" button={<IconButton icon="chevron" label={t('Change the view {name}', { name: view.name })} disabled={!canAct} />}>
          <MenuItem onSelect={onRename}>
            {t('Rename')}
          </MenuItem>
          {!on && (
            <MenuItem icon="check" onSelect={() => change({ query: shown.q, columns: shown.columns, sort: shown.sort }, t('View saved'))}>
              {t('Let it show this')}
            </MenuItem>
          )}
          <MenuItem icon="users" onSelect={() => change({ shared: !view.shared }, t('View saved'))}>
            {view.shared ? t('Keep to myself') : t('Share with everybody here')}
          </MenuItem>
          <MenuItem icon="remove" danger onSelect={() => void act(call(path, { method: 'DELETE' }), t('View deleted'), 'views')}>
            {t('Delete')}
          </MenuItem>
        </Menu>
      )}
    </span>
  )
}

function NameDialog({ view, shown, kept, onClose }: { view: SavedView | null; shown: Shown; kept: readonly SavedView[]; onClose: () => void }) {
  const t = useT()
  const act = useAct()
  const mayShare = useMayAct()
  const [name, setName] = useState(view?.name ?? '')
  const [shared, setShared] = useState(view?.shared ?? false)
  const save = async () => {
    const body = { name: name.trim(), shared, ...(view ? {} : { query: shown.q, columns: shown.columns, sort: shown.sort }) }
    // A name that one has already is another word for that view.
    const old = view ?? kept.find((one) => one.mine && one.name === body.name)
    const done = await act(call(old ? `views/${old.id}` : 'views', { method: old ? 'PATCH' : 'POST', body }), t('View saved'), 'views')
    if (done) onClose()
  }
  return (
    <Dialog title={view ? t('Rename') : t('Save view')} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          void save()
        }}
      >
        <Field label={t('Name of the view')}>{(id) => <Input id={id} value={name} maxLength={80} required onChange={(event) => setName(event.target.value)} />}</Field>
        {mayShare && (
          <label className="mt-3 flex items-center gap-2 text-sm">
            <input type="checkbox" className="size-4" checked={shared} onChange={(event) => setShared(event.target.checked)} />
            {t('Share with everybody here')}
          </label>
        )}
        <div className="mt-4 flex justify-end gap-2">
          <Button onClick={onClose}>{t('Back')}</Button>
          <Button look="main" type="submit" disabled={!name.trim()}>
            {t('Save')}
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
