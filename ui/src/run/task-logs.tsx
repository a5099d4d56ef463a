/** What the attempts of one task wrote, with a box to find something in it. */
import { useState } from 'react'

import { saveAs } from '@/api/client'
import type { Attempt } from '@/api/types'
import { useT } from '@/i18n'
import { Button, FIELD } from '@/parts/basics'
import { Time } from '@/parts/clock'
import { Empty } from '@/parts/feedback'
import { Status } from '@/parts/status'

import { linesWith } from './log-lines'
import { LogText } from './log-text'

export function TaskLogs({ attempts, runId }: { attempts: readonly Attempt[]; runId: string }) {
  const t = useT()
  const [find, setFind] = useState('')
  const written = attempts.filter((one) => one.log)
  if (written.length === 0) return <Empty icon="logs" title={t('No attempt has written a log.')} command={`windlass run logs ${runId}`} />
  const found = written.map((one) => ({ one, lines: linesWith(one.log ?? '', find).length }))
  const total = found.reduce((sum, { lines }) => sum + lines, 0)
  const keep = () => saveAs(new Blob(written.map((one) => `#${one.number}\n${one.log}\n`), { type: 'text/plain' }), 'task.log')
  return (
    <>
      <div className="mb-2 flex gap-2">
        <input
          type="search"
          aria-label={t('Find in the logs')}
          placeholder={t('Find in the logs')}
          value={find}
          onChange={(event) => setFind(event.target.value)}
          className={`${FIELD} w-full`}
        />
        <Button onClick={keep}>{t('Download')}</Button>
      </div>
      {find && (
        <p role="status" className="mb-2 text-xs text-soft">
          {t('{n} lines', { n: total })}
        </p>
      )}
      {found.reverse().map(({ one, lines }) =>
        lines === 0 ? null : (
          <section key={one.id} className="mb-3">
            <h3 className="flex flex-wrap items-center gap-2 text-xs">
              <b>#{one.number}</b>
              <Status state={one.state} /> <span className="text-soft">{one.workerId}</span> <Time at={one.claimedAt} />
            </h3>
            <LogText log={one.log ?? ''} find={find} />
          </section>
        ),
      )}
    </>
  )
}
