/** Who changed what, newest first. */
import { useInfiniteQuery } from '@tanstack/react-query'
import { useState } from 'react'

import { auditQuery } from '@/api/people'
import type { AuditEvent } from '@/api/types'
import { useT } from '@/i18n'
import { Button, Chip, Input, Panel, Skeleton } from '@/parts/basics'
import { Time } from '@/parts/clock'
import { Failed } from '@/parts/feedback'
import { Table } from '@/parts/table'

import { isDenied, NotForYou } from './denied'

export function AuditTrail() {
  const t = useT()
  const [action, setAction] = useState('')
  const [actor, setActor] = useState('')
  const read = useInfiniteQuery(auditQuery(action.trim(), actor.trim()))
  const rows = read.data?.pages.flatMap((page) => page.items) ?? []
  if (isDenied(read.error)) return <NotForYou />
  if (read.error && !read.data) return <Failed error={read.error} retry={() => void read.refetch()} />
  return (
    <Panel title={t('Audit trail')}>
      <div role="search" className="flex flex-wrap gap-2 px-3 py-2">
        <Input aria-label={t('Action')} placeholder="run.cancel" className="max-w-48 font-mono" value={action} onChange={(event) => setAction(event.target.value)} />
        <Input aria-label={t('Who')} placeholder={t('Who')} className="max-w-48" value={actor} onChange={(event) => setActor(event.target.value)} />
      </div>
      {!read.data && <Skeleton />}
      {read.data && rows.length === 0 && <p className="px-3 py-4 text-sm text-soft">{t('Nothing like that was done.')}</p>}
      {rows.length > 0 && (
        <Table
          label={t('Audit trail')}
          rows={rows}
          keyOf={(one) => one.eventId}
          rowProps={(one) => ({ 'data-audit': one.action })}
          columns={[
            { head: t('When'), cell: (one) => <Time at={Date.parse(one.createdAt)} /> },
            { head: t('Who'), wide: true, cell: (one) => one.actorId || '–' },
            { head: t('Action'), cell: (one) => <Act row={one} /> },
            { head: t('What'), wide: true, cell: (one) => <span title={one.targetId}>{whatOf(one)}</span> },
            { head: t('Detail'), wide: true, grows: true, cell: (one) => <span className="font-mono text-xs text-soft">{JSON.stringify(one.metadata)}</span> },
          ]}
        />
      )}
      {read.hasNextPage && (
        <div className="border-t border-line p-2 text-center">
          <Button disabled={read.isFetchingNextPage} onClick={() => void read.fetchNextPage()}>
            {t('Show more')}
          </Button>
        </div>
      )}
    </Panel>
  )
}

/** A narrow page has to whom it was done, and by whom, below it. */
function Act({ row }: { row: AuditEvent }) {
  return (
    <>
      <Chip>{row.action}</Chip>
      <span title={row.targetId} className="block max-w-52 truncate py-1 text-xs text-soft md:hidden">
        {whatOf(row)} · {row.actorId || '–'}
      </span>
    </>
  )
}

function whatOf(row: AuditEvent): string {
  return `${row.targetType} ${short(row.targetId)}`
}

function short(id: string): string {
  return id.length > 24 ? `…${id.slice(-12)}` : id
}
