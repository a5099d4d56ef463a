/** What a run's attempts did outside, and what may have happened without anybody knowing. */
import { useInfiniteQuery } from '@tanstack/react-query'
import { Fragment, useState } from 'react'

import { actionsQuery, useReadAgain } from '@/api/ledger'
import type { Action, Run } from '@/api/types'
import { stateWord, useT } from '@/i18n'
import type { RunModel } from '@/live/model'
import { Button, Choices, Skeleton } from '@/parts/basics'
import { Time } from '@/parts/clock'
import { Empty, Failed } from '@/parts/feedback'
import { Icon } from '@/parts/icons'
import { Json } from '@/parts/json'
import { Status } from '@/parts/status'

import { Approvals, ApproveButton } from './approvals'
import { Effect } from './effects'
import { useNames } from './names'

const STATES = ['', 'running', 'completed', 'failed', 'unknown'] as const
type State = (typeof STATES)[number]

interface Props {
  run: Run
  model: RunModel
  onSelect: (task: string) => void
}

export function LedgerView({ run, model, onSelect }: Props) {
  const t = useT()
  const [state, setState] = useState<State>('')
  const read = useInfiniteQuery(actionsQuery(run.id, state))
  useReadAgain(run.id, model.seq, 'actions', 'approvals')
  const actions = read.data?.pages.flatMap((page) => page.items) ?? []
  const choices = STATES.map((one) => ({ id: one, text: one ? stateWord(t, one) : t('All') }))
  return (
    <>
      <div className="flex flex-wrap items-center gap-2 border-b border-line p-2">
        <Choices label={t('Status')} value={state} choices={choices} onChange={setState} />
        <span className="flex-1" />
        <ApproveButton run={run} tasks={[...model.tasks.values()]} />
      </div>
      <div className="min-h-0 flex-1 overflow-auto" tabIndex={0} role="region" aria-label={t('Actions of this run')}>
        {read.error && !read.data && <Failed error={read.error} retry={() => void read.refetch()} />}
        {read.isPending && !read.error && <Skeleton />}
        {read.data && actions.length === 0 && (
          <Empty
            icon="call"
            title={state ? t('No action is in this state.') : t('Nothing has been done outside yet. Workers that send, pay or delete something say so here.')}
            command={`windlass action ls ${run.id}`}
          />
        )}
        {actions.length > 0 && <Rows actions={actions} onSelect={onSelect} />}
        {read.hasNextPage && (
          <div className="border-t border-line p-2 text-center">
            <Button disabled={read.isFetchingNextPage} onClick={() => void read.fetchNextPage()}>
              {t('Show more')}
            </Button>
          </div>
        )}
        <Approvals run={run} />
      </div>
    </>
  )
}

function Rows({ actions, onSelect }: { actions: readonly Action[]; onSelect: (task: string) => void }) {
  const t = useT()
  const [open, setOpen] = useState('')
  const head = (text: string, more = '') => <th className={`px-2 font-medium whitespace-nowrap ${more}`}>{text}</th>
  return (
    <table className="w-full text-sm">
      <thead className="text-left text-xs text-soft">
        <tr className="h-8">
          {head(t('Time'), 'max-md:hidden')}
          {head(t('Task'), 'max-md:hidden')}
          {head(t('Tool'))}
          {head(t('Effect'), 'max-md:hidden')}
          {head(t('Status'))}
          {head(t('Summary'), 'w-full')}
        </tr>
      </thead>
      <tbody>
        {actions.map((one) => (
          <Fragment key={one.id}>
            <Row action={one} open={one.id === open} onOpen={() => setOpen(one.id === open ? '' : one.id)} />
            {one.id === open && (
              <tr>
                <td colSpan={6} className="max-w-0 bg-sunk/40 p-3">
                  <Detail action={one} onSelect={onSelect} />
                </td>
              </tr>
            )}
          </Fragment>
        ))}
      </tbody>
    </table>
  )
}

function Row({ action, open, onOpen }: { action: Action; open: boolean; onOpen: () => void }) {
  const names = useNames()
  return (
    <tr data-action={action.tool} data-state={action.state} className="h-8 cursor-pointer border-t border-line transition-colors hover:bg-sunk" onClick={onOpen}>
      <td className="px-2 text-xs text-soft max-md:hidden">
        <Time at={action.startedAt} />
      </td>
      <td className="px-2 whitespace-nowrap max-md:hidden">{names.ofTask(action.taskId)}</td>
      <td className="px-2 whitespace-nowrap">
        <button
          type="button"
          aria-expanded={open}
          className="flex items-center gap-1 font-mono text-xs font-medium"
          onClick={(event) => {
            event.stopPropagation()
            onOpen()
          }}
        >
          <Icon name={open ? 'fold' : 'unfold'} size={14} />
          {action.tool}
        </button>
      </td>
      <td className="px-2 whitespace-nowrap max-md:hidden">
        <Effect name={action.effect} />
      </td>
      <td className="px-2 whitespace-nowrap">
        <ActionState state={action.state} />
      </td>
      <td className="w-full max-w-0 truncate px-2">{action.summary}</td>
    </tr>
  )
}

/** `unknown` alone would read like a gap in our books: it is a warning. */
function ActionState({ state }: { state: string }) {
  const t = useT()
  if (state !== 'unknown') return <Status state={state} />
  return (
    <span className="inline-flex h-5 items-center gap-1 rounded bg-wait-soft px-1.5 text-xs font-medium text-wait">
      <Icon name="warning" size={12} />
      {t('may have happened')}
    </span>
  )
}

function Detail({ action, onSelect }: { action: Action; onSelect: (task: string) => void }) {
  const t = useT()
  const names = useNames()
  return (
    <div className="grid gap-3">
      <p className="flex flex-wrap items-center gap-2 text-xs text-soft">
        <button type="button" className="text-accent hover:underline" onClick={() => onSelect(action.taskId)}>
          {names.ofTask(action.taskId)}
        </button>
        <Effect name={action.effect} />
        <Time at={action.startedAt} />
        {action.finishedAt && (
          <>
            → <Time at={action.finishedAt} />
          </>
        )}
      </p>
      {action.error && <p className="rounded bg-bad-soft p-2 text-sm text-bad wrap-anywhere">{action.error}</p>}
      <div className="grid gap-3 md:grid-cols-2">
        <Json value={action.input} name={t('Input')} />
        {action.output !== null && <Json value={action.output} name={t('Output')} />}
      </div>
    </div>
  )
}
