/** Values: small ones as they are, large ones cut short with a way to have all of it. */
import { useMemo, useState } from 'react'

import { saveAs } from '@/api/client'
import { useT } from '@/i18n'
import { formatBytes } from '@/parts/size'

import { Button } from './basics'
import { CopyButton } from './copy'
import { folded, type Line } from './diff'

const SHOWN_MAX = 20_000

export function Json({ value, name }: { value: unknown; name: string }) {
  const t = useT()
  const [all, setAll] = useState(false)
  const text = useMemo(() => JSON.stringify(value, null, 2) ?? 'null', [value])
  const download = () => saveAs(new Blob([text], { type: 'application/json' }), `${name}.json`)
  const cut = text.length > SHOWN_MAX && !all
  return (
    <div className="overflow-clip rounded-lg bg-sunk">
      <div className="flex items-center justify-between gap-2 py-1 pr-1 pl-3 text-xs text-soft">
        <span>
          {name} · {formatBytes(new Blob([text]).size)}
        </span>
        <span className="flex gap-1">
          <CopyButton text={text} />
          <Button onClick={download}>{t('Download')}</Button>
        </span>
      </div>
      <pre tabIndex={0} aria-label={name} className="max-h-56 overflow-auto px-3 pt-1 pb-3 md:max-h-96 font-mono text-xs leading-5">
        {cut ? `${text.slice(0, SHOWN_MAX)}\n…` : text}
      </pre>
      {cut && (
        <Button look="quiet" onClick={() => setAll(true)}>
          {t('Show all of it')}
        </Button>
      )}
    </div>
  )
}

export function DiffView({ lines, label }: { lines: readonly Line[]; label: string }) {
  const t = useT()
  if (lines.every((line) => line.kind === 'same')) return <p className="p-2 text-sm text-soft">{t('No difference')}</p>
  return (
    <pre tabIndex={0} aria-label={label} className="max-h-[32rem] overflow-auto rounded-lg bg-sunk p-3 font-mono text-xs leading-5">
      {folded(lines).map((line, at) => (
        <div
          key={at}
          className={line.kind === 'added' ? 'bg-ok-soft text-ok' : line.kind === 'removed' ? 'bg-bad-soft text-bad' : ''}
        >
          {line.kind === 'added' ? '+ ' : line.kind === 'removed' ? '− ' : '  '}
          {line.hidden ? <span className="text-soft">{t('{n} unchanged lines', { n: line.hidden })}</span> : line.text}
        </div>
      ))}
    </pre>
  )
}
