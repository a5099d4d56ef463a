/** What was given up for good, by class: look, replay, drop. */
import { useInfiniteQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useMemo, useState } from 'react'

import { useAct } from '@/api/actions'
import { letAllLetters, letLetters, type LetterVerb, lettersQuery } from '@/api/dead-letters'
import type { DeadLetter, DeadLettersDone } from '@/api/types'
import { LetterDetail } from '@/dead/detail'
import { useT } from '@/i18n'
import { Button, Chip, FIELD, PageHead, Panel, Skeleton } from '@/parts/basics'
import { Ago } from '@/parts/clock'
import { CopyAs } from '@/parts/copy'
import { Confirm } from '@/parts/dialog'
import { Empty, Failed, toast } from '@/parts/feedback'
import { Table } from '@/parts/table'
import { useTitle } from '@/parts/title'
import { useCanAct, useMayAct } from '@/shell/health'
import { useKeys } from '@/shell/keys'

const route = getRouteApi('/dead-letters')

interface Ask {
  verb: LetterVerb
  ids: readonly string[] | 'all'
}

export function DeadLettersPage() {
  const t = useT()
  useTitle(t('Dead letters'))
  const search = route.useSearch()
  const navigate = route.useNavigate()
  const [ask, setAsk] = useState<Ask | null>(null)
  const wanted = { class: search.class, flow: search.flow }
  const read = useInfiniteQuery(lettersQuery(wanted))
  const letters = useMemo(() => read.data?.pages.flatMap((page) => page.items) ?? [], [read.data])
  const choose = (id: string | undefined) => void navigate({ search: (old) => ({ ...old, id }), replace: true })
  const at = letters.findIndex((one) => one.id === search.id)
  useKeys({
    j: () => choose(letters[Math.min(letters.length - 1, at + 1)]?.id),
    k: () => choose(letters[Math.max(0, at - 1)]?.id),
    r: () => search.id && setAsk({ verb: 'replay', ids: [search.id] }),
    Escape: () => choose(undefined),
  })
  const filtered = !!(search.class || search.flow)
  return (
    <>
      <PageHead title={t('Dead letters')} note={letters.length > 0 && `${letters.length}${read.hasNextPage ? '+' : ''}`}>
        <CopyAs cli={`windlass dead ls${search.class ? ` --class ${search.class}` : ''}`} path={`dead-letters?class=${encodeURIComponent(search.class ?? '')}`} />
        <BulkButtons shown={letters.length} more={read.hasNextPage} onAsk={(verb) => setAsk({ verb, ids: 'all' })} />
      </PageHead>
      {(letters.length > 0 || filtered) && <Filters letters={letters} />}
      {read.error && !read.data && <Failed error={read.error} retry={() => void read.refetch()} />}
      {read.isPending && !read.error && <Skeleton />}
      {read.data && letters.length === 0 && (
        <Empty icon="deadLetters" title={filtered ? t('No dead letter fits the filter.') : t('Nothing has been given up. What fails for good is kept here.')} command="windlass dead ls">
          {filtered && <Button onClick={() => void navigate({ search: {} })}>{t('Clear the filter')}</Button>}
        </Empty>
      )}
      <div className={`grid grid-cols-[minmax(0,1fr)] items-start gap-4 ${search.id ? 'xl:grid-cols-[minmax(0,1fr)_28rem]' : ''}`}>
        {letters.length > 0 && (
          <Panel>
            <Letters letters={letters} shown={search.id} onChoose={choose} />
            {read.hasNextPage && (
              <div className="border-t border-line p-2 text-center">
                <Button disabled={read.isFetchingNextPage} onClick={() => void read.fetchNextPage()}>
                  {t('Show more')}
                </Button>
              </div>
            )}
          </Panel>
        )}
        {search.id && <LetterDetail key={search.id} id={search.id} onClose={() => choose(undefined)} onAct={(verb, id) => setAsk({ verb, ids: [id] })} />}
      </div>
      {ask && <AskDialog ask={ask} count={ask.ids === 'all' ? letters.length : ask.ids.length} more={read.hasNextPage} onClose={() => setAsk(null)} />}
    </>
  )
}

function BulkButtons({ shown, more, onAsk }: { shown: number; more: boolean; onAsk: (verb: LetterVerb) => void }) {
  const t = useT()
  const canAct = useCanAct()
  const mayAct = useMayAct()
  if (!mayAct || shown === 0) return null
  const count = `${shown}${more ? '+' : ''}`
  return (
    <>
      <Button icon="remove" look="danger" disabled={!canAct} onClick={() => onAsk('drop')}>
        {t('Drop all {n}', { n: count })}
      </Button>
      <Button icon="retry" look="main" disabled={!canAct} onClick={() => onAsk('replay')}>
        {t('Replay all {n}', { n: count })}
      </Button>
    </>
  )
}

/** Classes with how many there are of each, and the flow. */
function Filters({ letters }: { letters: readonly DeadLetter[] }) {
  const t = useT()
  const search = route.useSearch()
  const navigate = route.useNavigate()
  const counts = new Map<string, number>()
  for (const one of letters) counts.set(one.failureClass, (counts.get(one.failureClass) ?? 0) + 1)
  if (search.class && !counts.has(search.class)) counts.set(search.class, 0)
  const flows = [...new Set([...letters.map((one) => one.flow), ...(search.flow ? [search.flow] : [])])].sort()
  return (
    <div role="search" className="mb-3 flex flex-wrap items-center gap-1.5">
      {[...counts].map(([name, count]) => (
        <button
          key={name}
          type="button"
          aria-pressed={search.class === name}
          onClick={() => void navigate({ search: (old) => ({ ...old, class: old.class === name ? undefined : name, id: undefined }) })}
          className={`inline-flex h-6 items-center gap-1.5 rounded px-2 text-sm ${search.class === name ? 'bg-accent-soft font-medium text-accent' : 'bg-sunk text-soft hover:text-text'}`}
        >
          {name} <span className="text-xs tabular-nums">{count}</span>
        </button>
      ))}
      <select
        aria-label={t('Flow')}
        className={`${FIELD} ml-auto w-44`}
        value={search.flow ?? ''}
        onChange={(event) => void navigate({ search: (old) => ({ ...old, flow: event.target.value || undefined, id: undefined }) })}
      >
        <option value="">
          {t('Flow')}: {t('All')}
        </option>
        {flows.map((one) => (
          <option key={one}>{one}</option>
        ))}
      </select>
    </div>
  )
}

function Letters({ letters, shown, onChoose }: { letters: readonly DeadLetter[]; shown?: string; onChoose: (id: string) => void }) {
  const t = useT()
  return (
    <Table
      label={t('Dead letters')}
      rows={letters}
      keyOf={(one) => one.id}
      rowProps={(one) => ({ 'data-letter': one.id, className: one.id === shown ? 'bg-accent-soft' : '' })}
      columns={[
        {
          head: t('What'),
          cell: (one) => (
            <button type="button" className="font-medium text-accent hover:underline" onClick={() => onChoose(one.id)}>
              {one.name}
            </button>
          ),
        },
        { head: t('Class'), cell: (one) => <Chip>{one.failureClass}</Chip> },
        { head: t('Flow'), wide: true, cell: (one) => one.flow },
        { head: t('Tries'), wide: true, number: true, cell: (one) => one.tries },
        { head: t('Message'), wide: true, grows: true, cell: (one) => <span className="text-soft">{one.message}</span> },
        { head: t('Given up'), cell: (one) => <Ago at={one.diedAt} /> },
      ]}
    />
  )
}

function AskDialog({ ask, count, more, onClose }: { ask: Ask; count: number; more: boolean; onClose: () => void }) {
  const t = useT()
  const act = useAct()
  const search = route.useSearch()
  const navigate = route.useNavigate()
  const [busy, setBusy] = useState(false)
  const all = ask.ids === 'all'
  const shown = `${count}${all && more ? '+' : ''}`
  const go = async () => {
    setBusy(true)
    const work: Promise<DeadLettersDone> =
      ask.ids === 'all' ? letAllLetters(ask.verb, { class: search.class, flow: search.flow }) : letLetters(ask.verb, ask.ids)
    const done = await act(work, '', 'dead-letters', 'dead-letter', 'runs', 'run', 'stats')
    onClose()
    if (!done) return
    const refused = done.refused ?? []
    const said = refused.length === 1 ? refused[0]?.detail : ''
    toast(said || t('{done} done, {failed} refused', { done: done.done, failed: refused.length }), refused.length > 0)
    if (done.done > 0) void navigate({ search: (old) => ({ ...old, id: undefined }), replace: true })
  }
  const replay = ask.verb === 'replay'
  return (
    <Confirm
      title={replay ? t('Replay {n}?', { n: shown }) : t('Drop {n}?', { n: shown })}
      action={replay ? t('Replay') : t('Drop')}
      danger={!replay}
      busy={busy}
      onClose={onClose}
      onConfirm={() => void go()}
    >
      {replay ? t('Tasks are retried with fresh attempts, effects are sent again.') : t('Tasks stay failed, effects are never done. This cannot be taken back.')}
    </Confirm>
  )
}
