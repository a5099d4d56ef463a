/** Values: small ones as they are, large ones cut short with a way to have all of it. */
import { useMemo, useState } from 'react'

import { saveAs } from '@/api/client'
import { useT } from '@/i18n'
import { formatBytes } from '@/parts/size'

import { Button, IconButton } from './basics'
import { Code } from './code'
import { CopyIcon } from './copy'

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
        <span className="min-w-0 truncate">
          {name} · {formatBytes(new Blob([text]).size)}
        </span>
        <span className="flex shrink-0">
          <CopyIcon text={text} />
          <IconButton icon="download" label={t('Download')} onClick={download} />
        </span>
      </div>
      <Code text={cut ? `${text.slice(0, SHOWN_MAX)}\n…` : text} language={cut ? 'text' : 'json'} label={name} className="max-h-56 md:max-h-96" />
      {cut && (
        <Button look="quiet" onClick={() => setAll(true)}>
          {t('Show all of it')}
        </Button>
      )}
    </div>
  )
}
