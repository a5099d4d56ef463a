/** Which files of a place are others than when it was made. */
import type { EnvFiles } from '@/api/types'
import { type Text, useT } from '@/i18n'

interface Kind {
  name: 'added' | 'changed' | 'removed'
  mark: string
  count: Text
  look: string
}

const KINDS: readonly Kind[] = [
  { name: 'added', mark: '+', count: '{n} added', look: 'text-ok' },
  { name: 'changed', mark: '~', count: '{n} changed', look: 'text-wait' },
  { name: 'removed', mark: '−', count: '{n} removed', look: 'text-bad' },
]

export function ChangedFiles({ files }: { files: EnvFiles }) {
  const t = useT()
  const counts = KINDS.filter(({ name }) => files[name].length > 0).map(({ name, count }) => t(count, { n: files[name].length }))
  if (files.more > 0) counts.push(t('and {n} more', { n: files.more }))
  return (
    <details data-files className="w-full text-xs">
      <summary className="cursor-pointer text-soft">
        {t('Files since it was made')}: {counts.join(' · ')}
      </summary>
      <ul className="mt-1 max-h-64 overflow-y-auto font-mono">
        {KINDS.flatMap(({ name, mark, look }) =>
          files[name].map((path) => (
            <li key={`${mark}${path}`} data-file={name} className="flex gap-2">
              <span aria-hidden="true" className={look}>
                {mark}
              </span>
              <span className="min-w-0 wrap-anywhere">{path}</span>
            </li>
          )),
        )}
      </ul>
    </details>
  )
}
