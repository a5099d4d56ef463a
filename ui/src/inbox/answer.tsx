/** The ways to answer a question. Keys ask once, and what they did can be taken back for a moment. */
import { useEffect, useState } from 'react'

import { resolveCheckpoint, useAct } from '@/api/actions'
import type { Checkpoint } from '@/api/types'
import { valueOf } from '@/flow/params'
import { asWritten } from '@/graph/names'
import { useT } from '@/i18n'
import { Button, Field, Input } from '@/parts/basics'
import { Confirm } from '@/parts/dialog'
import { toastUndo } from '@/parts/feedback'
import { useCanAct, useMayAct } from '@/shell/health'
import { useKeys } from '@/shell/keys'

import { Answers, takesMore } from './answers'

const UNDO_MS = 5000
type Verdict = 'approved' | 'rejected'

export function Answer({ item, onDone }: { item: Checkpoint; onDone: () => void }) {
  const t = useT()
  const act = useAct()
  const canAct = useCanAct()
  const mayAct = useMayAct()
  const [note, setNote] = useState('')
  const [other, setOther] = useState('')
  const [busy, setBusy] = useState(false)
  const [ask, setAsk] = useState<Verdict | null>(null)
  const send = (value: unknown) => act(resolveCheckpoint(item.id, value, note), t('Answered'), 'checkpoints', 'checkpoint', 'why')
  const answer = async (value: unknown) => {
    setBusy(true)
    const done = await send(value)
    setBusy(false)
    if (done) onDone()
  }
  const answerSoon = (verdict: Verdict) => {
    setAsk(null)
    const said = verdict === 'approved' ? t('Approved') : t('Rejected')
    toastUndo(`${said}: ${item.prompt || asWritten(item.node)}`, UNDO_MS, () => void send(verdict))
    onDone()
  }
  const more = takesMore(item)
  const askFor = (verdict: Verdict) => canAct && !busy && !more && setAsk(verdict)
  useKeys({ a: () => askFor('approved'), r: () => askFor('rejected') })
  useEffect(() => setNote(''), [item.id])
  const value = valueOf(other)
  if (!mayAct) return null
  const off = !canAct || busy
  return (
    <div className="border-t border-line bg-panel px-4 py-3 max-lg:sticky max-lg:bottom-0">
      <Field label={t('Note')}>{(id) => <Input id={id} value={note} onChange={(event) => setNote(event.target.value)} />}</Field>
      {more && <Answers item={item} disabled={off} onAnswer={(given) => void answer(given)} />}
      {!more && (
        <div className="flex flex-wrap gap-2 max-sm:[&>*]:flex-1">
          <Button look="main" icon="check" className="!h-8" disabled={off} onClick={() => void answer('approved')}>
            {t('Approve')}
          </Button>
          <Button look="danger" icon="close" className="!h-8" disabled={off} onClick={() => void answer('rejected')}>
            {t('Reject')}
          </Button>
        </div>
      )}
      <details hidden={more} className="mt-3">
        <summary className="text-sm text-soft">{t('Another answer')}</summary>
        <div className="mt-2 flex gap-2">
          <Input aria-label={t('Another answer')} placeholder='{"choice": "later"}' value={other} onChange={(event) => setOther(event.target.value)} className="font-mono" />
          <Button className="!h-8" disabled={off || value === undefined} onClick={() => void answer(value)}>
            {t('Send')}
          </Button>
        </div>
      </details>
      {ask && (
        <Confirm
          title={ask === 'approved' ? t('Approve?') : t('Reject?')}
          action={ask === 'approved' ? t('Approve') : t('Reject')}
          danger={ask === 'rejected'}
          onClose={() => setAsk(null)}
          onConfirm={() => answerSoon(ask)}
        >
          {item.prompt || asWritten(item.node)}
        </Confirm>
      )}
    </div>
  )
}
