/** How far a bulk action is, and which runs refused it. */
import { Link } from '@tanstack/react-router'

import { useT } from '@/i18n'
import { Button } from '@/parts/basics'

import type { BulkState } from './bulk-work'

export function BulkProgress({ work, onStop }: { work: BulkState; onStop: () => void }) {
  const t = useT()
  const tried = work.done + work.failed.length
  return (
    <>
      <div className="mb-3 flex items-center gap-3">
        <progress aria-label={t('Progress')} className="h-3 flex-1 accent-accent" max={Math.max(1, work.total)} value={tried} />
        <span role="status" className="text-sm tabular-nums">
          {tried} / {work.total}
        </span>
        {!work.over && <Button onClick={onStop}>{t('Stop')}</Button>}
      </div>
      {work.failed.length > 0 && (
        <>
          <p className="mb-1 text-sm font-semibold text-bad">{t('{n} refused', { n: work.failed.length })}</p>
          <ul className="max-h-60 overflow-auto rounded border border-line text-sm" tabIndex={0}>
            {work.failed.slice(0, 200).map((one) => (
              <li key={one.id} className="border-b border-line px-2 py-1 last:border-0">
                <Link to="/runs/$id" params={{ id: one.id }} className="font-mono text-accent hover:underline">
                  {one.id.slice(0, 13)}
                </Link>{' '}
                {one.detail}
              </li>
            ))}
          </ul>
        </>
      )}
    </>
  )
}
