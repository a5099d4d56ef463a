/** Many runs at once: what is selected, or all that match; always with the count said first. */
import { useState } from 'react'

import { bulk, cancelRun, retryRun, useAct } from '@/api/actions'
import { hasEnded, type Run } from '@/api/types'
import { useT } from '@/i18n'
import { Button } from '@/parts/basics'
import { Confirm } from '@/parts/dialog'
import { toast } from '@/parts/feedback'
import { useCanAct } from '@/shell/health'

type Verb = 'cancel' | 'retry'

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
  const [ask, setAsk] = useState<Ask | null>(null)
  const [busy, setBusy] = useState(false)
  const mine = runs.filter((run) => chosen.has(run.id))
  const fit = (verb: Verb) => mine.filter((run) => (verb === 'retry' ? run.state === 'failed' : !hasEnded(run.state)))
  const go = async ({ verb, all }: Ask) => {
    setBusy(true)
    const work = all ? bulk(verb, q) : each(verb, fit(verb).map((run) => run.id))
    const result = await act(work, '', 'runs', 'matched', 'stats')
    if (result) {
      const bad = result.failed.length
      toast(t('{done} done, {failed} refused', { done: result.done, failed: bad }), bad > 0)
    }
    setBusy(false)
    setAsk(null)
    onDone()
  }
  const count = ask ? (ask.all ? matched : fit(ask.verb).length) : 0
  const verbText = ask?.verb === 'retry' ? t('Retry') : t('Cancel')
  return (
    <>
      <span className="ml-auto flex flex-wrap items-center gap-1.5">
        {chosen.size > 0 && <span>{t('{n} selected', { n: chosen.size })}</span>}
        {(['retry', 'cancel'] as const).map((verb) => (
          <Button
            key={verb}
            look={verb === 'cancel' ? 'danger' : 'plain'}
            disabled={!canAct || fit(verb).length === 0}
            onClick={() => setAsk({ verb, all: false })}
          >
            {verb === 'retry' ? t('Retry') : t('Cancel')} {fit(verb).length || ''}
          </Button>
        ))}
        {q.trim() && matched > 0 && (
          <>
            <Button disabled={!canAct} onClick={() => setAsk({ verb: 'retry', all: true })}>
              {t('Retry all {n}', { n: matched })}
            </Button>
            <Button look="danger" disabled={!canAct} onClick={() => setAsk({ verb: 'cancel', all: true })}>
              {t('Cancel all {n}', { n: matched })}
            </Button>
          </>
        )}
      </span>
      {ask && (
        <Confirm
          title={verbText}
          action={`${verbText} ${count}`}
          danger={ask.verb === 'cancel'}
          busy={busy}
          onClose={() => setAsk(null)}
          onConfirm={() => void go(ask)}
        >
          {ask.all ? t('{n} runs match {q}.', { n: count, q }) : t('{n} selected runs.', { n: count })}{' '}
          {ask.verb === 'cancel' ? t('Those that still run are stopped.') : t('Those that failed are tried again.')}
        </Confirm>
      )}
    </>
  )
}

/** One by one, a few at a time; told the way the server tells of a bulk action. */
async function each(verb: Verb, ids: string[]) {
  const failed: { id: string; detail: string }[] = []
  let done = 0
  const left = [...ids]
  const work = async () => {
    for (let id = left.shift(); id; id = left.shift()) {
      try {
        await (verb === 'cancel' ? cancelRun(id) : retryRun(id))
        done += 1
      } catch (error) {
        failed.push({ id, detail: String(error) })
      }
    }
  }
  await Promise.all([work(), work(), work(), work()])
  return { matched: ids.length, done, failed }
}
