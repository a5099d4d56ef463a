/**
 * The answer to "what about this run": one line tinted by its state, with the time so far and the one
 * thing to do next. What else can be done stands in the head of the page.
 */
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'

import { retryRun, useAct } from '@/api/actions'
import { runCheckpointsQuery } from '@/api/queries'
import { failureOf, hasEnded, outcomeOf, type Reason, type Run } from '@/api/types'
import { useT } from '@/i18n'
import { BUTTON, Button, IconButton } from '@/parts/basics'
import { Span } from '@/parts/clock'
import { toast } from '@/parts/feedback'
import { Icon } from '@/parts/icons'
import { lookOf, StatusIcon } from '@/parts/status'
import { useCanAct, useMayAct } from '@/shell/health'

import { useNames } from './names'
import { useWhy } from './why'

/** A sentence that may not fit its line can be opened. */
const LONG = 90

export function Banner({ run }: { run: Run }) {
  const t = useT()
  const why = useWhy(run)
  const names = useNames()
  const [open, setOpen] = useState(false)
  const failure = hasEnded(run.state) ? failureOf(run.error) : null
  const state = outcomeOf(run)
  const look = lookOf(state)
  const sentence = failure
    ? failure.node
      ? t('Failed in "{task}": {message}', { task: names.of(failure.node), message: failure.message })
      : failure.message
    : why.line
  return (
    <div data-banner={run.state} className={`mb-3 flex flex-wrap items-start gap-x-2.5 gap-y-1 sm:flex-nowrap rounded-lg py-2 pr-2 pl-3 ${look.soft}`}>
      <span className="mt-1">
        <StatusIcon state={state} />
      </span>
      <p
        data-why
        className={`min-w-[12rem] flex-1 py-1 text-sm font-medium ${look.text} ${open ? 'whitespace-pre-wrap wrap-anywhere' : 'truncate max-md:line-clamp-3 max-md:whitespace-normal'}`}
      >
        {sentence}
      </p>
      {sentence.length > LONG && <IconButton icon={open ? 'up' : 'down'} label={open ? t('Fold') : t('Show all of it')} aria-expanded={open} onClick={() => setOpen(!open)} />}
      <span className="mt-1 hidden text-sm text-soft sm:inline">
        <Span from={run.createdAt} to={run.finishedAt} />
      </span>
      <NextStep run={run} reason={why.reason} />
    </div>
  )
}

function NextStep({ run, reason }: { run: Run; reason: Reason | null }) {
  const t = useT()
  const act = useAct()
  const canAct = useCanAct()
  const mayAct = useMayAct()
  const asks = run.state === 'waiting'
  const points = useQuery({ ...runCheckpointsQuery(run.id), enabled: asks })
  const open = asks ? points.data?.items.find((one) => one.state === 'open') : undefined
  if (open) {
    return (
      <Link to="/inbox" search={{ id: open.id }} className={`${BUTTON} border-transparent bg-accent-fill text-on-accent hover:brightness-110`}>
        <Icon name="approval" size={14} />
        {t('Answer')}
      </Link>
    )
  }
  if (reason?.code === 'queue.no_worker') {
    const command = `windlass worker MODULE:worker --transport ${reason.values.transport} --server ${new URL('.', document.baseURI).href}`
    return (
      <Button icon="copy" onClick={() => void navigator.clipboard.writeText(command).then(() => toast(t('Copied')))}>
        {t('Copy start command')}
      </Button>
    )
  }
  if (run.state !== 'failed' || !mayAct) return null
  return (
    <Button look="main" icon="retry" disabled={!canAct} onClick={() => void act(retryRun(run.id), t('Retry started'), 'run', 'why')}>
      {t('Retry')}
    </Button>
  )
}
