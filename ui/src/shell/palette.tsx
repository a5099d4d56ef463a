/** The command palette: actions, recent runs, places, flows, and runs by what is typed. */
import { Dialog } from 'radix-ui'
import { useRef, useState } from 'react'

import { useT } from '@/i18n'
import { SCRIM } from '@/parts/dialog'
import { Icon } from '@/parts/icons'
import { StatusIcon } from '@/parts/status'

import { type Command, useCommands } from './commands'

export function Palette({ onClose, onHelp }: { onClose: () => void; onHelp: () => void }) {
  const t = useT()
  const list = useRef<HTMLUListElement>(null)
  const [text, setText] = useState('')
  const [at, setAt] = useState(0)
  const commands = useCommands(text, onHelp)
  const choose = (command: Command | undefined) => {
    onClose()
    command?.run()
  }
  const move = (next: number) => {
    setAt(next)
    list.current?.querySelector(`#palette-${next}`)?.scrollIntoView({ block: 'nearest' })
  }
  const onKeyDown = (event: React.KeyboardEvent) => {
    if (event.key === 'ArrowDown') move(Math.min(at + 1, commands.length - 1))
    else if (event.key === 'ArrowUp') move(Math.max(at - 1, 0))
    else if (event.key === 'Enter') choose(commands[at])
    else return
    event.preventDefault()
  }
  return (
    <Dialog.Root open onOpenChange={(open) => !open && onClose()}>
      <Dialog.Portal>
        <div className={SCRIM} />
        <Dialog.Content
          aria-describedby={undefined} onEscapeKeyDown={(event) => event.stopPropagation()}
          className="float fixed top-[15vh] left-1/2 z-50 w-[calc(100vw-2rem)] max-w-xl -translate-x-1/2 overflow-clip rounded-lg border border-line bg-raised shadow-float"
        >
          <Dialog.Title className="sr-only">{t('Command palette')}</Dialog.Title>
          <div className="flex items-center gap-2 border-b border-line px-3 text-soft">
            <Icon name="search" />
            <input
              autoFocus
              role="combobox"
              aria-expanded="true"
              aria-controls="palette-list"
              aria-activedescendant={commands[at] ? `palette-${at}` : undefined}
              aria-label={t('Command palette')}
              placeholder={t('Go to a page, a flow or a run id…')}
              value={text}
              onChange={(event) => {
                setText(event.target.value)
                setAt(0)
              }}
              onKeyDown={onKeyDown}
              className="h-11 min-w-0 flex-1 bg-transparent text-lg text-text outline-none placeholder:text-soft"
            />
            <kbd className="rounded-sm bg-sunk px-1 font-mono text-xs">Esc</kbd>
          </div>
          <ul ref={list} id="palette-list" role="listbox" aria-label={t('Command palette')} className="max-h-[46vh] overflow-auto p-1">
            {commands.map((command, index) => (
              <Entry key={`${command.section} ${command.text} ${command.hint}`} command={command} index={index} at={at} first={commands[index - 1]?.section !== command.section} onChoose={choose} onPoint={setAt} />
            ))}
          </ul>
        </Dialog.Content>
      </Dialog.Portal>
    </Dialog.Root>
  )
}

interface EntryProps {
  command: Command
  index: number
  at: number
  first: boolean
  onChoose: (command: Command) => void
  onPoint: (index: number) => void
}

function Entry({ command, index, at, first, onChoose, onPoint }: EntryProps) {
  const t = useT()
  return (
    <>
      {first && (
        <li role="presentation" className="px-2 pt-2 pb-1 text-xs font-medium text-soft">
          {t(command.section)}
        </li>
      )}
      <li
        id={`palette-${index}`}
        role="option"
        aria-selected={index === at}
        onClick={() => onChoose(command)}
        onPointerMove={() => index !== at && onPoint(index)}
        className={`flex h-8 cursor-default items-center gap-2 rounded px-2 text-sm ${index === at ? 'bg-accent-soft text-accent' : ''}`}
      >
        {command.state ? <StatusIcon state={command.state} /> : <Icon name={command.icon ?? 'forward'} className={index === at ? '' : 'text-soft'} />}
        <span className="min-w-0 flex-1 truncate">{command.text}</span>
        <span className={`font-mono text-xs ${index === at ? '' : 'text-soft'}`}>{command.hint}</span>
      </li>
    </>
  )
}
