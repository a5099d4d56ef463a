/** The command palette: places, flows, runs by the beginning of their id, and switches. */
import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useEffect, useRef, useState } from 'react'

import { flowsQuery } from '@/api/queries'
import { useT } from '@/i18n'
import { FIELD } from '@/parts/basics'
import { setPrefs } from '@/prefs'

import { PLACES } from './nav'

interface Command {
  text: string
  hint: string
  run: () => void
}

export function Palette({ onClose, onHelp }: { onClose: () => void; onHelp: () => void }) {
  const t = useT()
  const ref = useRef<HTMLDialogElement>(null)
  const [text, setText] = useState('')
  const [at, setAt] = useState(0)
  const commands = useCommands(text, onHelp)
  useEffect(() => {
    if (ref.current && !ref.current.open) ref.current.showModal()
  }, [])
  const choose = (command: Command | undefined) => {
    onClose()
    command?.run()
  }
  const onKeyDown = (event: React.KeyboardEvent) => {
    if (event.key === 'ArrowDown') setAt(Math.min(at + 1, commands.length - 1))
    else if (event.key === 'ArrowUp') setAt(Math.max(at - 1, 0))
    else if (event.key === 'Enter') choose(commands[at])
    else return
    event.preventDefault()
  }
  return (
    <dialog
      ref={ref}
      aria-label={t('Command palette')}
      onClose={onClose}
      onClick={(event) => event.target === ref.current && onClose()}
      className="mt-[12vh] w-[calc(100vw-2rem)] max-w-xl rounded-lg border border-line bg-panel p-2 shadow-2xl"
    >
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
        className={`${FIELD} w-full`}
      />
      <ul id="palette-list" role="listbox" aria-label={t('Command palette')} className="mt-2 max-h-80 overflow-auto">
        {commands.map((command, index) => (
          <li
            key={`${command.hint} ${command.text}`}
            id={`palette-${index}`}
            role="option"
            aria-selected={index === at}
            onClick={() => choose(command)}
            className={`flex cursor-pointer justify-between rounded px-2 py-1.5 text-sm ${index === at ? 'bg-accent-soft text-accent' : ''}`}
          >
            <span>{command.text}</span>
            <span className={index === at ? '' : 'text-soft'}>{command.hint}</span>
          </li>
        ))}
      </ul>
    </dialog>
  )
}

function useCommands(text: string, onHelp: () => void): Command[] {
  const t = useT()
  const navigate = useNavigate()
  const flows = useQuery(flowsQuery(''))
  const all: Command[] = PLACES.map((place) => ({
    text: t(place.text),
    hint: place.keys,
    run: () => void navigate({ to: place.to }),
  }))
  for (const flow of flows.data?.items ?? []) {
    const run = () => void navigate({ to: '/flows/$name', params: { name: flow.name } })
    all.push({ text: flow.name, hint: t('Flow'), run })
  }
  for (const theme of ['light', 'dark', 'system'] as const) {
    all.push({ text: t('Theme: {theme}', { theme }), hint: '', run: () => setPrefs({ theme }) })
  }
  all.push({ text: 'English / 中文', hint: '', run: () => setPrefs({ language: t('Runs') === 'Runs' ? 'zh' : 'en' }) })
  all.push({ text: t('Keyboard shortcuts'), hint: '?', run: onHelp })
  const wanted = text.trim().toLowerCase()
  const found = all.filter((command) => command.text.toLowerCase().includes(wanted)).slice(0, 12)
  if (wanted) {
    found.push({
      text: t('Runs matching {q}', { q: text.trim() }),
      hint: t('Filter'),
      run: () => void navigate({ to: '/runs', search: { q: text.trim() } }),
    })
  }
  return found
}
