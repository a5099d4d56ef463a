/** Copying: a text, or the same thing as this page from a terminal. */
import { useState } from 'react'

import { useT } from '@/i18n'

import { Button, IconButton } from './basics'
import { Menu, MenuItem } from './menu'
import { toast } from './feedback'

/** Whether it was copied a moment ago, and how to. */
function useCopy(text: string): [boolean, () => void] {
  const [done, setDone] = useState(false)
  const copy = () => {
    void navigator.clipboard.writeText(text).then(() => {
      setDone(true)
      setTimeout(() => setDone(false), 1500)
    })
  }
  return [done, copy]
}

/** Where there is room for no word. */
export function CopyIcon({ text }: { text: string }) {
  const t = useT()
  const [done, copy] = useCopy(text)
  return <IconButton icon={done ? 'check' : 'copy'} label={done ? t('Copied') : t('Copy')} onClick={copy} />
}

export function CopyButton({ text, label }: { text: string; label?: string }) {
  const t = useT()
  const [done, copy] = useCopy(text)
  return (
    <Button icon={done ? 'check' : 'copy'} onClick={copy}>
      {done ? t('Copied') : (label ?? t('Copy'))}
    </Button>
  )
}

export function CopyAs({ cli, path }: { cli: string; path: string }) {
  const t = useT()
  const curl = `curl -H "Authorization: Bearer $WINDLASS_TOKEN" '${new URL(`api/v1/${path}`, document.baseURI)}'`
  const copy = (text: string) => () => void navigator.clipboard.writeText(text).then(() => toast(t('Copied')))
  return (
    <Menu label={t('Copy as')} button={<Button icon="copy">{t('Copy as')}</Button>}>
      <MenuItem icon="logs" onSelect={copy(cli)}>
        CLI
      </MenuItem>
      <MenuItem icon="logs" onSelect={copy(curl)}>
        curl
      </MenuItem>
      <MenuItem icon="open" onSelect={copy(location.href)}>
        {t('Link')}
      </MenuItem>
    </Menu>
  )
}
