/** The questions in rows that tell them apart; those that ask the same stand together and are answered together. */
import { useState } from 'react'

import { resolveCheckpoint, useAct } from '@/api/actions'
import type { Checkpoint } from '@/api/types'
import { asWritten } from '@/graph/names'
import { useT } from '@/i18n'
import { Button } from '@/parts/basics'
import { Ago } from '@/parts/clock'
import { Dialog } from '@/parts/dialog'
import { toast } from '@/parts/feedback'
import { StatusIcon } from '@/parts/status'
import { useCanAct, useMayAct } from '@/shell/health'

import { takesMore } from './answers'
import { inShort } from './values'

interface Props {
  items: readonly Checkpoint[]
  shown?: string
  onChoose: (item: Checkpoint) => void
}

/** Questions of one node with the same words, in the order of their first. */
export function groupsOf(items: readonly Checkpoint[]): Checkpoint[][] {
  const groups = new Map<string, Checkpoint[]>()
  for (const item of items) {
    const key = `${item.state}\n${item.flow}\n${item.node}\n${item.prompt}`
    const group = groups.get(key)
    if (group) group.push(item)
    else groups.set(key, [item])
  }
  return [...groups.values()]
}

export function InboxList({ items, shown, onChoose }: Props) {
  const t = useT()
  return (
    <ul aria-label={t('Inbox')} className="overflow-clip rounded-lg border border-line bg-panel">
      {groupsOf(items).map((group) => (
        <li key={group[0]?.id} className="border-b border-line last:border-0">
          {group.length > 1 && <GroupHead group={group} />}
          <ul>
            {group.map((item) => (
              <li key={item.id}>
                <Row item={item} shown={item.id === shown} onChoose={onChoose} />
              </li>
            ))}
          </ul>
        </li>
      ))}
    </ul>
  )
}

function Row({ item, shown, onChoose }: { item: Checkpoint; shown: boolean; onChoose: (item: Checkpoint) => void }) {
  const t = useT()
  const short = inShort(item.show)
  return (
    <button
      type="button"
      aria-current={shown}
      onClick={() => onChoose(item)}
      className={`flex w-full items-start gap-2.5 px-3 py-2 text-left transition-colors ${shown ? 'bg-accent-soft' : 'hover:bg-sunk'}`}
    >
      <span className="mt-0.5">
        <StatusIcon state={item.state} />
      </span>
      <span className="min-w-0 flex-1">
        <span className="block truncate font-medium">
          {item.prompt || asWritten(item.node)}
          {short && <span className="font-normal"> · {short}</span>}
        </span>
        <span className="block truncate text-xs text-soft">
          {item.flow} · {item.runId.slice(-6)} · <Ago at={item.createdAt} />
          {item.expiresAt && item.state === 'open' && (
            <>
              {' '}
              · {t('expires')} <Ago at={item.expiresAt} />
            </>
          )}
        </span>
      </span>
    </button>
  )
}

function GroupHead({ group }: { group: readonly Checkpoint[] }) {
  const t = useT()
  const canAct = useCanAct()
  const mayAct = useMayAct()
  const [open, setOpen] = useState(false)
  const first = group[0] as Checkpoint
  const answerable = mayAct && first.state === 'open' && !takesMore(first)
  return (
    <div className="flex items-center justify-between gap-2 bg-sunk/60 py-1 pr-1.5 pl-3 text-xs text-soft">
      <span className="min-w-0 truncate">
        {group.length} × {first.prompt || asWritten(first.node)}
      </span>
      {answerable && (
        <Button look="quiet" disabled={!canAct} onClick={() => setOpen(true)}>
          {t('Answer all {n}', { n: group.length })}
        </Button>
      )}
      {open && <AnswerAll group={group} onClose={() => setOpen(false)} />}
    </div>
  )
}

/** All of them before one's eyes, then one answer for all. */
function AnswerAll({ group, onClose }: { group: readonly Checkpoint[]; onClose: () => void }) {
  const t = useT()
  const act = useAct()
  const [busy, setBusy] = useState(false)
  const go = async (answer: string) => {
    setBusy(true)
    const all = Promise.allSettled(group.map((item) => resolveCheckpoint(item.id, answer, '')))
    const done = (await act(all, '', 'checkpoints', 'checkpoint', 'why')) ?? []
    const failed = done.filter((one) => one.status === 'rejected').length
    toast(t('{done} done, {failed} refused', { done: done.length - failed, failed }), failed > 0)
    onClose()
  }
  return (
    <Dialog title={group[0]?.prompt || asWritten(group[0]?.node ?? '')} onClose={onClose}>
      <ul className="mb-4 max-h-[40vh] overflow-auto text-sm text-text" tabIndex={0}>
        {group.map((item) => (
          <li key={item.id} className="flex justify-between gap-3 border-t border-line py-1.5">
            <span className="min-w-0 truncate">{inShort(item.show) || item.flow}</span>
            <span className="font-mono text-xs text-soft">{item.runId.slice(-6)}</span>
          </li>
        ))}
      </ul>
      <div className="flex justify-end gap-2">
        <Button look="danger" icon="close" disabled={busy} onClick={() => void go('rejected')}>
          {t('Reject')} {group.length}
        </Button>
        <Button look="main" icon="check" disabled={busy} onClick={() => void go('approved')}>
          {t('Approve')} {group.length}
        </Button>
      </div>
    </Dialog>
  )
}
