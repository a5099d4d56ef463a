import { useState } from 'react'

import { useT } from '@/i18n'

import { Button } from './basics'
import { useMenu } from './menu'

export function CopyButton({ text, label }: { text: string; label?: string }) {
  const t = useT()
  const [done, setDone] = useState(false)
  const copy = () => {
    void navigator.clipboard.writeText(text).then(() => {
      setDone(true)
      setTimeout(() => setDone(false), 1500)
    })
  }
  return <Button onClick={copy}>{done ? t('Copied') : (label ?? t('Copy'))}</Button>
}

/** The same thing from a terminal. */
export function CopyAs({ cli, path }: { cli: string; path: string }) {
  const t = useT()
  const menu = useMenu()
  const curl = `curl -H "Authorization: Bearer $WINDLASS_TOKEN" '${new URL(`api/v1/${path}`, document.baseURI)}'`
  return (
    <details ref={menu} className="relative">
      <summary className="inline-flex min-h-8 list-none items-center rounded border border-line bg-panel px-2.5 py-1 text-sm font-medium hover:bg-sunk">
        {t('Copy as')} ▾
      </summary>
      <div className="absolute right-0 z-20 mt-1 flex w-40 flex-col gap-1 rounded border border-line bg-panel p-2 shadow-lg">
        <CopyButton text={cli} label="CLI" />
        <CopyButton text={curl} label="curl" />
        <CopyButton text={location.href} label={t('Link')} />
      </div>
    </details>
  )
}
