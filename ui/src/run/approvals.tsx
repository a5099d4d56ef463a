/** Approvals: given for one action of one task, shown once, taken back while nobody has used them. */
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'

import { useAct } from '@/api/actions'
import { approvalsQuery, giveApproval, takeApprovalBack } from '@/api/ledger'
import { hasEnded, type Run } from '@/api/types'
import { useT } from '@/i18n'
import { parentOf, type TaskLite } from '@/live/model'
import { Button, Field, FIELD, TextArea } from '@/parts/basics'
import { Ago } from '@/parts/clock'
import { CopyButton } from '@/parts/copy'
import { Dialog } from '@/parts/dialog'
import { Status } from '@/parts/status'
import { useCanAct, useMayAct } from '@/shell/health'

import { useNames } from './names'

/** What people and clocks do has no attempt that could act outside. */
const WITHOUT_ATTEMPTS = new Set(['approval', 'wait', 'timer', 'join', 'choice', 'foreach', 'parallel', 'subflow'])

/** The tasks whose attempt may need an approval: a task with others below it leaves the work to them. */
function approvable(run: Run, tasks: readonly TaskLite[]): TaskLite[] {
  if (hasEnded(run.state)) return []
  const above = new Set(tasks.map((one) => parentOf(one.id)))
  return tasks.filter((one) => !hasEnded(one.state) && !WITHOUT_ATTEMPTS.has(one.kind) && !above.has(one.id))
}

export function ApproveButton({ run, tasks }: { run: Run; tasks: readonly TaskLite[] }) {
  const t = useT()
  const canAct = useCanAct()
  const mayAct = useMayAct()
  const [open, setOpen] = useState(false)
  const able = approvable(run, tasks)
  // A token that is on the page stays there, even when its task ends meanwhile.
  if (!open && (!mayAct || able.length === 0)) return null
  return (
    <>
      <Button icon="approval" disabled={!canAct} onClick={() => setOpen(true)}>
        {t('Approve…')}
      </Button>
      {open && <ApproveDialog run={run} tasks={able} onClose={() => setOpen(false)} />}
    </>
  )
}

function ApproveDialog({ run, tasks, onClose }: { run: Run; tasks: readonly TaskLite[]; onClose: () => void }) {
  const t = useT()
  const act = useAct()
  const names = useNames()
  const [task, setTask] = useState(tasks[0]?.id ?? '')
  const [reason, setReason] = useState('')
  const [seconds, setSeconds] = useState(600)
  const [token, setToken] = useState('')
  const [busy, setBusy] = useState(false)
  const give = async () => {
    setBusy(true)
    const made = await act(giveApproval(run.id, task, reason, seconds), '', 'approvals')
    setBusy(false)
    if (made?.token) setToken(made.token)
  }
  return (
    <Dialog title={t('Approve an action')} onClose={onClose}>
      {token ? (
        <Made token={token} onClose={onClose} />
      ) : (
        <form
          onSubmit={(event) => {
            event.preventDefault()
            void give()
          }}
        >
          <p className="mb-3 text-sm text-soft">{t('One thing that cannot be undone, by the attempt that has the task or the next one.')}</p>
          <Field label={t('Task')}>
            {(id) => (
              <select id={id} className={`${FIELD} w-full`} value={task} onChange={(event) => setTask(event.target.value)}>
                {tasks.map((one) => (
                  <option key={one.id} value={one.id}>
                    {names.ofTask(one.id)}
                  </option>
                ))}
              </select>
            )}
          </Field>
          <Field label={t('Reason')}>{(id) => <TextArea id={id} required value={reason} onChange={(event) => setReason(event.target.value)} />}</Field>
          <Field label={t('How long it counts')}>
            {(id) => (
              <select id={id} className={`${FIELD} w-full`} value={seconds} onChange={(event) => setSeconds(Number(event.target.value))}>
                <option value={600}>{t('For 10 minutes')}</option>
                <option value={3600}>{t('For an hour')}</option>
                <option value={86_400}>{t('For a day')}</option>
              </select>
            )}
          </Field>
          <div className="flex justify-end gap-2">
            <Button onClick={onClose}>{t('Back')}</Button>
            <Button type="submit" look="main" disabled={busy || !reason.trim() || !task}>
              {t('Allow')}
            </Button>
          </div>
        </form>
      )}
    </Dialog>
  )
}

function Made({ token, onClose }: { token: string; onClose: () => void }) {
  const t = useT()
  return (
    <>
      <div role="status" className="mb-3 rounded-lg bg-ok-soft p-3 text-sm">
        <p className="mb-2 font-medium">{t('Shown this once')}</p>
        <div className="flex flex-wrap items-center gap-2">
          <code data-approval-token className="min-w-0 flex-1 font-mono text-xs break-all">
            {token}
          </code>
          <CopyButton text={token} />
        </div>
      </div>
      <p className="mb-4 text-sm text-soft">{t('Give this to whoever does the work. It counts for one action.')}</p>
      <div className="flex justify-end">
        <Button look="main" onClick={onClose}>
          {t('Done')}
        </Button>
      </div>
    </>
  )
}

export function Approvals({ run }: { run: Run }) {
  const t = useT()
  const act = useAct()
  const names = useNames()
  const canAct = useCanAct()
  const mayAct = useMayAct()
  const { data } = useQuery(approvalsQuery(run.id))
  if (!data?.items.length) return null
  const revoke = (id: string) => void act(takeApprovalBack(run.id, id), t('Approval taken back'), 'approvals')
  return (
    <section aria-label={t('Approvals')} className="border-t border-line">
      <h2 className="px-3 pt-3 pb-1 text-xs font-medium text-soft">{t('Approvals')}</h2>
      <ul>
        {data.items.map((one) => (
          <li key={one.id} data-approval={one.state} className="flex min-h-8 flex-wrap items-center gap-x-3 gap-y-1 border-t border-line px-3 py-1.5 text-sm first:border-t-0">
            <Status state={one.state === 'active' ? 'open' : one.state} />
            <span className="font-medium">{names.ofTask(one.taskId)}</span>
            <span className="min-w-0 flex-1 wrap-anywhere">{one.reason}</span>
            <span className="text-xs text-soft">
              {t('Allowed by {name}', { name: one.approvedBy })} · <Ago at={one.createdAt} />
              {one.state === 'active' && (
                <>
                  {' '}
                  · {t('expires')} <Ago at={one.expiresAt} />
                </>
              )}
            </span>
            {one.state === 'active' && mayAct && (
              <Button look="danger" disabled={!canAct} onClick={() => revoke(one.id)}>
                {t('Revoke')}
              </Button>
            )}
          </li>
        ))}
      </ul>
    </section>
  )
}
