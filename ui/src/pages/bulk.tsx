/** Many runs at once: what is selected, or all that match; always with the count said first. */
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'

import { cancelRun, retryRun, useAct } from '@/api/actions'
import { matchedQuery } from '@/api/queries'
import { hasEnded, type Run } from '@/api/types'
import { useT } from '@/i18n'
import { Button, IconButton } from '@/parts/basics'
import { Confirm, Dialog } from '@/parts/dialog'
import { toast } from '@/parts/feedback'
import { useCanAct, useMayAct } from '@/shell/health'

import { type BulkState, doEach, fitting, matchingIds, type Verb } from './bulk-work'
import { BulkProgress } from './bulk-progress'

interface Props {
  q: string
  matched: number
  runs: readonly Run[]
  chosen: ReadonlySet<string>
  onDone: () => void
}

interface Ask {
  verb: Verb
  all: boolean
}

export function BulkBar({ q, matched, runs, chosen, onDone }: Props) {
  const t = useT()
  const act = useAct()
  const canAct = useCanAct()
  const mayAct = useMayAct()
  const asked = mayAct && matched > 0
  const inAll = {
    retry: useQuery({ ...matchedQuery(fitting('retry', q)), enabled: asked }).data?.matched ?? 0,
    cancel: useQuery({ ...matchedQuery(fitting('cancel', q)), enabled: asked }).data?.matched ?? 0,
  }
  const [ask, setAsk] = useState<Ask | null>(null)
  const [work, setWork] = useState<BulkState | null>(null)
  const [stop, setStop] = useState<AbortController | null>(null)
  if (!mayAct) return null
  const mine = runs.filter((run) => chosen.has(run.id))
  const fit = (verb: Verb) => mine.filter((run) => (verb === 'retry' ? run.state === 'failed' : !hasEnded(run.state)))
  const go = async ({ verb, all }: Ask) => {
    setAsk(null)
    const abort = new AbortController()
    setStop(abort)
    setWork({ verb, total: all ? inAll[verb] : fit(verb).length, done: 0, failed: [], over: false })
    const each = verb === 'cancel' ? (id: string) => cancelRun(id) : (id: string) => retryRun(id)
    const ids = all ? matchingIds(verb, q) : Promise.resolve(fit(verb).map((run) => run.id))
    const result = await act(
      ids.then((found) => doEach(verb, found, each, setWork, abort.signal)),
      '',
      ...['runs', 'matched', 'stats'],
    )
    if (result) toast(t('{done} done, {failed} refused', { done: result.done, failed: result.failed.length }), result.failed.length > 0)
    // Who was refused stays to be read; nothing else does.
    if (!result?.failed.length) setWork(null)
    onDone()
  }
  const count = ask ? (ask.all ? inAll[ask.verb] : fit(ask.verb).length) : 0
  const verbText = ask?.verb === 'retry' ? t('Retry') : t('Cancel')
  return (
    <>
      {chosen.size > 0 && (
        <div className="float fixed bottom-5 left-1/2 z-20 flex max-w-[calc(100vw-2rem)] -translate-x-1/2 items-center gap-1.5 rounded-lg border border-line bg-raised py-1.5 pr-1.5 pl-3 text-text shadow-float">
          <span className="mr-2 text-sm font-medium whitespace-nowrap">{t('{n} selected', { n: chosen.size })}</span>
          {(['retry', 'cancel'] as const).map((verb) => (
            <Button
              key={verb}
              icon={verb}
              look={verb === 'cancel' ? 'danger' : 'plain'}
              disabled={!canAct || fit(verb).length === 0}
              onClick={() => setAsk({ verb, all: false })}
            >
              {verb === 'retry' ? t('Retry') : t('Cancel')} {fit(verb).length || ''}
            </Button>
          ))}
          <IconButton icon="close" label={t('Clear the selection')} onClick={onDone} />
        </div>
      )}
      <span className="ml-auto flex flex-wrap items-center gap-1.5">
        {asked && inAll.retry > 0 && (
          <Button disabled={!canAct} onClick={() => setAsk({ verb: 'retry', all: true })}>
            {t('Retry all {n}', { n: inAll.retry })}
          </Button>
        )}
        {asked && inAll.cancel > 0 && (
          <Button look="danger" disabled={!canAct} onClick={() => setAsk({ verb: 'cancel', all: true })}>
            {t('Cancel all {n}', { n: inAll.cancel })}
          </Button>
        )}
      </span>
      {ask && (
        <Confirm
          title={verbText}
          action={`${verbText} ${count}`}
          danger={ask.verb === 'cancel'}
          onClose={() => setAsk(null)}
          onConfirm={() => void go(ask)}
        >
          {ask.all ? t('Matching {q}: {n}.', { n: count, q }) : t('Selected: {n}.', { n: count })}{' '}
          {ask.verb === 'cancel' ? t('Those that still run are stopped.') : t('Those that failed are tried again.')}
        </Confirm>
      )}
      {work && (
        <Dialog
          title={work.verb === 'retry' ? t('Retry') : t('Cancel')}
          onClose={() => {
            stop?.abort()
            setWork(null)
          }}
        >
          <BulkProgress work={work} onStop={() => stop?.abort()} />
        </Dialog>
      )}
    </>
  )
}
