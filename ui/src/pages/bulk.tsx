/** Many runs at once: what is selected, or all that match; always with the count said first. */
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'

import { useAct } from '@/api/actions'
import { matchedQuery } from '@/api/queries'
import type { Run } from '@/api/types'
import { type Text, useT } from '@/i18n'
import { Button, IconButton } from '@/parts/basics'
import { Confirm } from '@/parts/dialog'
import type { IconName } from '@/parts/icons'
import { useCanAct, useMayAct } from '@/shell/health'

import { type Act, fits, fitting, startJob } from './bulk-work'

interface Props {
  q: string
  matched: number
  runs: readonly Run[]
  chosen: ReadonlySet<string>
  onDone: () => void
  onStarted: (job: string) => void
}

interface Ask {
  act: Act
  all: boolean
}

interface Look {
  text: Text
  icon: IconName
  means: Text
  danger: boolean
}

const LOOKS: Record<Act, Look> = {
  retry: { text: 'Retry', icon: 'retry', means: 'Those that failed are tried again.', danger: false },
  rerun: { text: 'Rerun', icon: 'rerun', means: 'For each a new run is started.', danger: false },
  cancel: { text: 'Cancel', icon: 'cancel', means: 'Those that still run are stopped.', danger: true },
  delete: { text: 'Delete', icon: 'remove', means: 'Those that have ended are deleted with their tasks, events and logs.', danger: true },
}

export function BulkBar({ q, matched, runs, chosen, onDone, onStarted }: Props) {
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
  if (!mayAct) return null
  const mine = (verb: Act) => runs.filter((run) => chosen.has(run.id) && fits(verb, run)).map((run) => run.id)
  const go = async ({ act: verb, all }: Ask) => {
    setAsk(null)
    const job = await act(startJob(verb, all ? { q } : { ids: mine(verb) }), '', 'bulk')
    if (job) onStarted(job.id)
    onDone()
  }
  const count = ask ? (ask.all ? inAll[ask.act as 'retry' | 'cancel'] : mine(ask.act).length) : 0
  return (
    <>
      {chosen.size > 0 && (
        <div className="float fixed bottom-5 left-1/2 z-20 flex max-w-[calc(100vw-2rem)] -translate-x-1/2 flex-wrap items-center gap-1.5 rounded-lg border border-line bg-raised py-1.5 pr-1.5 pl-3 text-text shadow-float">
          <span className="mr-2 text-sm font-medium whitespace-nowrap">{t('{n} selected', { n: chosen.size })}</span>
          {(Object.keys(LOOKS) as Act[]).map((verb) => (
            <Button key={verb} icon={LOOKS[verb].icon} look={LOOKS[verb].danger ? 'danger' : 'plain'} disabled={!canAct || mine(verb).length === 0} onClick={() => setAsk({ act: verb, all: false })}>
              {t(LOOKS[verb].text)} {mine(verb).length || ''}
            </Button>
          ))}
          <IconButton icon="close" label={t('Clear the selection')} onClick={onDone} />
        </div>
      )}
      <span className="ml-auto flex flex-wrap items-center gap-1.5">
        {asked && inAll.retry > 0 && (
          <Button disabled={!canAct} onClick={() => setAsk({ act: 'retry', all: true })}>
            {t('Retry all {n}', { n: inAll.retry })}
          </Button>
        )}
        {asked && inAll.cancel > 0 && (
          <Button look="danger" disabled={!canAct} onClick={() => setAsk({ act: 'cancel', all: true })}>
            {t('Cancel all {n}', { n: inAll.cancel })}
          </Button>
        )}
      </span>
      {ask && (
        <Confirm
          title={t(LOOKS[ask.act].text)}
          action={`${t(LOOKS[ask.act].text)} ${count}`}
          danger={LOOKS[ask.act].danger}
          onClose={() => setAsk(null)}
          onConfirm={() => void go(ask)}
        >
          {ask.all ? t('Matching {q}: {n}.', { n: count, q }) : t('Selected: {n}.', { n: count })} {t(LOOKS[ask.act].means)}
        </Confirm>
      )}
    </>
  )
}
