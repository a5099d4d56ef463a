/** Have the rest of a run executed elsewhere, when the worker it keeps to is gone or busy. */
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'

import { rebindRun, useAct } from '@/api/actions'
import { workersQuery } from '@/api/queries'
import type { Run } from '@/api/types'
import { useT } from '@/i18n'
import { Button, Field, FIELD } from '@/parts/basics'
import { Dialog } from '@/parts/dialog'

export function RebindDialog({ run, onClose }: { run: Run; onClose: () => void }) {
  const t = useT()
  const act = useAct()
  const workers = useQuery(workersQuery)
  const [worker, setWorker] = useState('')
  const choices = (workers.data?.items ?? []).filter((one) => one.transport === 'link' && one.state === 'online')
  const move = async () => {
    if (await act(rebindRun(run.id, worker || null), t('The run is moved'), 'run', 'why')) onClose()
  }
  return (
    <Dialog title={t('Move to another worker')} onClose={onClose}>
      <p className="mb-3 text-sm">{t('A run keeps to one worker for each package. What waits goes to the other one; what runs ends where it is.')}</p>
      <Field label={t('Worker')}>
        {(id) => (
          <select id={id} className={`${FIELD} w-full`} value={worker} onChange={(event) => setWorker(event.target.value)}>
            <option value="">{t('Any that can')}</option>
            {choices.map((one) => (
              <option key={one.id}>{one.id}</option>
            ))}
          </select>
        )}
      </Field>
      <div className="flex justify-end gap-2">
        <Button onClick={onClose}>{t('Back')}</Button>
        <Button icon="move" look="main" onClick={() => void move()}>
          {t('Move')}
        </Button>
      </div>
    </Dialog>
  )
}
