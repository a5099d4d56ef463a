/** What waits for people: decide fast, and see what was decided. */
import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { useEffect, useState } from 'react'

import { resolveCheckpoint, useAct } from '@/api/actions'
import { checkpointQuery, inboxQuery } from '@/api/queries'
import type { Checkpoint } from '@/api/types'
import { valueOf } from '@/flow/params'
import { useT } from '@/i18n'
import { Button, Choices, Field, Input, PageHead, Panel, Skeleton } from '@/parts/basics'
import { Ago, Time } from '@/parts/clock'
import { Confirm } from '@/parts/dialog'
import { Empty, Failed } from '@/parts/feedback'
import { Json } from '@/parts/json'
import { Status } from '@/parts/status'
import { useTitle } from '@/parts/title'
import { Answers, takesMore } from '@/pages/inbox-answers'
import { useCanAct, useMayAct } from '@/shell/health'
import { useKeys } from '@/shell/keys'

const route = getRouteApi('/inbox')

export function InboxPage() {
  const t = useT()
  const { state = 'open', id } = route.useSearch()
  const navigate = route.useNavigate()
  const list = useQuery(inboxQuery(state === 'all' ? '' : state))
  const items = list.data?.items ?? []
  const one = useQuery({ ...checkpointQuery(id ?? ''), enabled: !!id && !items.some((item) => item.id === id) })
  const shown = items.find((item) => item.id === id) ?? one.data ?? (id ? undefined : items[0])
  const at = items.findIndex((item) => item.id === shown?.id)
  useTitle(items.length && state === 'open' ? `${t('Inbox')} (${items.length})` : t('Inbox'))
  const choose = (item: Checkpoint | undefined) => void navigate({ search: (old) => ({ ...old, id: item?.id }) })
  useKeys({
    j: () => choose(items[Math.min(items.length - 1, at + 1)]),
    k: () => choose(items[Math.max(0, at - 1)]),
  })
  return (
    <>
      <PageHead title={t('Inbox')}>
        <Choices
          label={t('Status')}
          value={state as 'open' | 'resolved' | 'all'}
          choices={[
            { id: 'open', text: t('Waiting') },
            { id: 'resolved', text: t('Answered') },
            { id: 'all', text: t('All') },
          ]}
          onChange={(value) => void navigate({ search: { state: value } })}
        />
      </PageHead>
      {list.error && !list.data && <Failed error={list.error} retry={() => void list.refetch()} />}
      {list.isPending && !list.error && <Skeleton />}
      {list.data && items.length === 0 && !shown && (
        <Empty title={t('Nothing waits for you.')} command="windlass inbox ls" />
      )}
      <div className="grid items-start gap-4 lg:grid-cols-[minmax(18rem,26rem)_1fr]">
        {/* A narrow page has room for one of the two: the list, or what was picked from it. */}
        {items.length > 0 && (
          <div className={id && shown ? 'hidden min-w-0 lg:block' : 'min-w-0'}>
            <List items={items} shown={shown?.id} onChoose={choose} />
          </div>
        )}
        {shown && (
          <div className={id ? 'min-w-0' : 'hidden min-w-0 lg:block'}>
            <Button look="quiet" className="mb-2 lg:hidden" onClick={() => choose(undefined)}>
              ← {t('Back to the list')}
            </Button>
            <Detail key={shown.id} item={shown} onDone={() => choose(items[at + 1] ?? items[at - 1])} />
          </div>
        )}
      </div>
    </>
  )
}

interface ListProps {
  items: readonly Checkpoint[]
  shown?: string
  onChoose: (item: Checkpoint) => void
}

function List({ items, shown, onChoose }: ListProps) {
  const t = useT()
  return (
    <Panel>
      <ul aria-label={t('Inbox')}>
        {items.map((item) => (
          <li key={item.id}>
            <button
              type="button"
              aria-current={item.id === shown}
              onClick={() => onChoose(item)}
              className={`block w-full border-b border-line px-3 py-2 text-left ${item.id === shown ? 'bg-accent-soft' : 'hover:bg-sunk'}`}
            >
              <span className="flex items-center justify-between gap-2">
                <span className="min-w-0 truncate font-medium">{item.prompt || item.node}</span>
                <Status state={item.state} />
              </span>
              <span className="text-xs text-soft">
                {item.flow} · <Ago at={item.createdAt} />
                {item.expiresAt && item.state === 'open' && (
                  <>
                    {' '}
                    · {t('expires')} <Ago at={item.expiresAt} />
                  </>
                )}
              </span>
            </button>
          </li>
        ))}
      </ul>
    </Panel>
  )
}

export function Detail({ item, onDone }: { item: Checkpoint; onDone: () => void }) {
  const t = useT()
  return (
    <Panel title={item.prompt || item.node} action={<Status state={item.state} />}>
      <div className="p-3">
        <p className="mb-3 text-sm text-soft">
          <Link to="/runs/$id" params={{ id: item.runId }} search={{ task: item.taskId }} className="text-accent underline">
            {item.flow} {item.runId.slice(0, 13)}
          </Link>{' '}
          · {item.node} · {t('asked')} <Time at={item.createdAt} />
          {item.expiresAt && (
            <>
              {' '}
              · {t('expires')} <Time at={item.expiresAt} />
            </>
          )}
        </p>
        {item.show !== null && item.show !== undefined && (
          <div className="mb-3">
            <Json value={item.show} name={t('Shown for the decision')} />
          </div>
        )}
        {item.blocksRun && item.state === 'open' && (
          <p className="mb-3 text-sm">{t('The whole run is held back until this is answered.')}</p>
        )}
        {item.state === 'open' ? <Answer item={item} onDone={onDone} /> : <Answered item={item} />}
      </div>
    </Panel>
  )
}

function Answer({ item, onDone }: { item: Checkpoint; onDone: () => void }) {
  const t = useT()
  const act = useAct()
  const canAct = useCanAct()
  const mayAct = useMayAct()
  const [note, setNote] = useState('')
  const [other, setOther] = useState('')
  const [busy, setBusy] = useState(false)
  const [ask, setAsk] = useState(false)
  const answer = async (value: unknown) => {
    setBusy(true)
    const done = await act(resolveCheckpoint(item.id, value, note), t('Answered'), 'checkpoints', 'checkpoint', 'why')
    setBusy(false)
    if (done) onDone()
  }
  const more = takesMore(item)
  useKeys({ a: () => canAct && !busy && !more && setAsk(true) })
  useEffect(() => setNote(''), [item.id])
  const value = valueOf(other)
  if (!mayAct) return null
  return (
    <div>
      <Field label={t('Note')}>
        {(id) => <Input id={id} value={note} onChange={(event) => setNote(event.target.value)} />}
      </Field>
      {more && <Answers item={item} disabled={!canAct || busy} onAnswer={(value) => void answer(value)} />}
      {!more && (
        <div className="mb-4 flex flex-wrap gap-2">
          <Button look="main" disabled={!canAct || busy} onClick={() => void answer('approved')}>
            ✓ {t('Approve')}
          </Button>
          <Button look="danger" disabled={!canAct || busy} onClick={() => void answer('rejected')}>
            ✗ {t('Reject')}
          </Button>
        </div>
      )}
      <details hidden={more}>
        <summary className="text-sm text-soft">{t('Another answer')}</summary>
        <div className="mt-2 flex gap-2">
          <Input aria-label={t('Another answer')} placeholder='{"choice": "later"}' value={other} onChange={(event) => setOther(event.target.value)} className="font-mono" />
          <Button disabled={!canAct || busy || value === undefined} onClick={() => void answer(value)}>
            {t('Send')}
          </Button>
        </div>
      </details>
      {ask && (
        <Confirm
          title={t('Approve?')}
          action={`✓ ${t('Approve')}`}
          onClose={() => setAsk(false)}
          onConfirm={() => {
            setAsk(false)
            void answer('approved')
          }}
        >
          {item.prompt || item.node}
        </Confirm>
      )}
    </div>
  )
}

function Answered({ item }: { item: Checkpoint }) {
  const t = useT()
  return (
    <div className="text-sm">
      <p className="mb-2">
        {item.answeredBy && <b>{item.answeredBy}</b>} · <Time at={item.answeredAt} />
        {item.note && <span className="block text-soft">“{item.note}”</span>}
      </p>
      {item.answer !== null && <Json value={item.answer} name={t('Answer')} />}
    </div>
  )
}
