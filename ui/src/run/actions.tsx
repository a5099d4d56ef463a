/** What can be done to a run; each verb apart from the others. */
import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useId, useState } from 'react'

import { cancelRun, rerunRun, retryRun, signalRun, useAct } from '@/api/actions'
import { awaitedQuery } from '@/api/queries'
import { hasEnded, isWorkflowRun, type Run } from '@/api/types'
import { valueOf } from '@/flow/params'
import { useT } from '@/i18n'
import { Button, Field, Input } from '@/parts/basics'
import { CopyAs } from '@/parts/copy'
import { Confirm, Dialog } from '@/parts/dialog'
import { useCanAct, useMayAct } from '@/shell/health'
import { useKeys } from '@/shell/keys'

import { RebindDialog } from './rebind'

export function RunActions({ run }: { run: Run }) {
  const t = useT()
  const act = useAct()
  const navigate = useNavigate()
  const canAct = useCanAct()
  const mayAct = useMayAct()
  const [ask, setAsk] = useState<'cancel' | 'signal' | 'rebind' | null>(null)
  const ended = hasEnded(run.state)
  const retry = () => void act(retryRun(run.id), t('Retry started'), 'run', 'why')
  useKeys({ r: () => run.state === 'failed' && canAct && retry() })
  const rerun = async () => {
    const started = await act(rerunRun(run.id), t('Run started'), 'runs')
    if (started) void navigate({ to: '/runs/$id', params: { id: started.id } })
  }
  const workflow = isWorkflowRun(run)
  const copy = <CopyAs cli={`windlass run show ${run.id}`} path={`runs/${run.id}`} />
  if (!mayAct) return copy
  return (
    <span className="flex flex-wrap gap-1.5">
      {ended && (
        <Button icon="rerun" disabled={!canAct} onClick={() => void rerun()}>
          {t('Rerun')}
        </Button>
      )}
      {!ended && (
        <>
          {workflow ? (
            <Button icon="move" disabled={!canAct} onClick={() => setAsk('rebind')}>
              {t('Move')}
            </Button>
          ) : (
            <Button icon="signal" disabled={!canAct} onClick={() => setAsk('signal')}>
              {t('Signal')}
            </Button>
          )}
          <Button look="danger" icon="cancel" disabled={!canAct || run.state === 'cancelling'} onClick={() => setAsk('cancel')}>
            {t('Cancel')}
          </Button>
        </>
      )}
      {copy}
      {ask === 'rebind' && <RebindDialog run={run} onClose={() => setAsk(null)} />}
      {ask === 'cancel' && (
        <Confirm
          title={t('Cancel this run?')}
          action={t('Cancel')}
          danger
          onClose={() => setAsk(null)}
          onConfirm={() => {
            setAsk(null)
            void act(cancelRun(run.id), t('Asked to stop'), 'run', 'why')
          }}
        >
          {t('What waits ends now; what runs is told to stop.')}
        </Confirm>
      )}
      {ask === 'signal' && <SignalDialog run={run} onClose={() => setAsk(null)} />}
    </span>
  )
}

function SignalDialog({ run, onClose }: { run: Run; onClose: () => void }) {
  const t = useT()
  const act = useAct()
  const awaited = useQuery(awaitedQuery(run.id)).data ?? []
  const [typed, setTyped] = useState<string | null>(null)
  const key = typed ?? awaited[0] ?? ''
  const list = useId()
  const [text, setText] = useState('')
  const send = async () => {
    const done = await act(signalRun(run.id, key.trim(), valueOf(text) ?? null), t('Signal sent'), 'run', 'why')
    if (done) onClose()
  }
  return (
    <Dialog title={t('Signal')} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          void send()
        }}
      >
        <Field label={t('Key')} hint={t('The shared key the run waits for')}>
          {(id) => <Input id={id} required list={list} value={key} onChange={(event) => setTyped(event.target.value)} />}
        </Field>
        <datalist id={list}>
          {awaited.map((one) => (
            <option key={one} value={one} />
          ))}
        </datalist>
        <Field label={t('Value')} hint={t('JSON, or plain text')}>
          {(id) => <Input id={id} className="font-mono" value={text} onChange={(event) => setText(event.target.value)} />}
        </Field>
        <Button type="submit" look="main">
          {t('Send')}
        </Button>
      </form>
    </Dialog>
  )
}
