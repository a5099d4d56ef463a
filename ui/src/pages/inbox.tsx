/** What waits for people: decide fast, and see what was decided. */
import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'

import { checkpointQuery, inboxQuery } from '@/api/queries'
import type { Checkpoint } from '@/api/types'
import { useT } from '@/i18n'
import { Decision } from '@/inbox/decision'
import { InboxList } from '@/inbox/list'
import { Button, Choices, PageHead, Skeleton } from '@/parts/basics'
import { Empty, Failed } from '@/parts/feedback'
import { useTitle } from '@/parts/title'
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
        <Empty icon="inbox" title={t('Nothing waits for you.')} command="windlass inbox ls" />
      )}
      <div className="grid items-start gap-4 lg:grid-cols-[minmax(18rem,26rem)_1fr]">
        {/* A narrow page has room for one of the two: the list, or what was picked from it. */}
        {items.length > 0 && (
          <div className={id && shown ? 'hidden min-w-0 lg:block' : 'min-w-0'}>
            <InboxList items={items} shown={shown?.id} onChoose={choose} />
          </div>
        )}
        {shown && (
          <div className={id ? 'min-w-0' : 'hidden min-w-0 lg:block'}>
            <Button icon="back" look="quiet" className="mb-2 lg:hidden" onClick={() => choose(undefined)}>
              {t('Back to the list')}
            </Button>
            <Decision key={shown.id} item={shown} onDone={() => choose(items[at + 1] ?? items[at - 1])} />
          </div>
        )}
      </div>
    </>
  )
}
