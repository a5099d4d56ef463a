/** Entries of a log, one below the other: time, level, task, text. */
import { memo, useState } from 'react'

import { plain } from '@/code/ansi'
import { locale, type Text, type Translate, useT } from '@/i18n'
import { Icon } from '@/parts/icons'
import { usePrefs } from '@/prefs'
import { formatClock } from '@/time/format'

import type { Shown } from './log-stream'
import { LogText } from './log-text'
import { useNames } from './names'

const TONES: Record<string, string> = { debug: 'text-soft', info: 'text-run', warning: 'text-wait', error: 'text-bad', critical: 'text-bad font-semibold' }

/** A line of so many characters may not fit beside its time and task. */
const LONG = 110

interface Props {
  entries: readonly Shown[]
  find: string
  /** Without it, all are of one task, and its name need not stand on every line. */
  onSelect?: (task: string) => void
}

export function LogRows({ entries, find, onSelect }: Props) {
  return (
    <ol className="py-1 font-mono text-xs leading-5">
      {entries.map((entry) => (
        <LogRow key={entry.key} entry={entry} find={find} onSelect={onSelect} />
      ))}
    </ol>
  )
}

/** Drawn anew only when it changes: there are thousands, and more every second. */
const LogRow = memo(function LogRow({ entry, find, onSelect }: { entry: Shown } & Omit<Props, 'entries'>) {
  const t = useT()
  const lines = entry.text.trimEnd().split('\n')
  const [chosen, setOpen] = useState<boolean | null>(null)
  const open = chosen ?? isHidden(lines, find)
  const level = entry.level ?? entry.guess
  return (
    <li data-entry={entry.attempt} className="flex flex-wrap items-baseline gap-x-3 px-3 hover:bg-sunk sm:flex-nowrap">
      <Clock at={entry.at} />
      <span data-level={level ?? ''} className={`w-[4.5rem] shrink-0 ${TONES[level ?? ''] ?? ''}`} title={entry.level ? undefined : level ? t('Guessed from the text') : undefined}>
        {level && (entry.level ? levelWord(t, level) : <i>{levelWord(t, level)}?</i>)}
      </span>
      {onSelect && <TaskName entry={entry} onSelect={onSelect} />}
      <span data-text className={`min-w-0 basis-full sm:basis-auto ${open || !onSelect ? 'wrap-anywhere whitespace-pre-wrap' : 'truncate whitespace-pre max-sm:wrap-anywhere max-sm:whitespace-pre-wrap'}`}>
        <LogText text={open ? lines.join('\n') : folded(lines)} find={find} />
      </span>
      {(lines.length > 1 || (onSelect && entry.text.length > LONG)) && (
        <button
          type="button"
          aria-expanded={open}
          className="inline-flex shrink-0 items-center gap-0.5 self-start rounded px-1 font-sans text-soft hover:bg-panel hover:text-text"
          onClick={() => setOpen(!open)}
        >
          <Icon name={open ? 'fold' : 'unfold'} size={14} />
          {lines.length > 1 ? t('{n} lines', { n: lines.length }) : t('Whole line')}
        </button>
      )}
    </li>
  )
})

/** A text of several lines in one: how it begins, and how it ends, where a trace says what it is about. */
export function folded(lines: readonly string[]): string {
  return lines.length > 1 ? `${lines[0]} … ${lines.at(-1)?.trim()}` : (lines[0] ?? '')
}

/** Whether what is looked for stands in a line that is folded away. */
export function isHidden(lines: readonly string[], find: string): boolean {
  const wanted = find.trim().toLowerCase()
  const has = (text: string) => plain(text).toLowerCase().includes(wanted)
  return wanted !== '' && !has(folded(lines)) && lines.some(has)
}

function Clock({ at }: { at: number }) {
  const { zone } = usePrefs()
  const exact = new Date(at).toISOString()
  return (
    <time dateTime={exact} title={exact} className="shrink-0 text-soft tabular-nums">
      {formatClock(at, zone, locale())}
    </time>
  )
}

function TaskName({ entry, onSelect }: { entry: Shown; onSelect: (task: string) => void }) {
  const names = useNames()
  const name = `${names.ofTask(entry.task)} #${entry.attempt}`
  return (
    <button type="button" title={name} className="w-36 shrink-0 truncate text-left text-accent hover:underline lg:w-48" onClick={() => onSelect(entry.task)}>
      {name}
    </button>
  )
}

/** The word for a level, as it stands beside a line. */
export function levelWord(t: Translate, level: string): string {
  return level in TONES ? t(level as Text) : level
}
