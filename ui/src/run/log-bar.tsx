/** Which entries of a log are meant, whether its end is kept in view, and having it as a file. */
import { locale, type Translate, useT } from '@/i18n'
import { Button, Choices, FIELD } from '@/parts/basics'

import { type Known, type Level, LEVELS, type Wanted } from './log-stream'
import { useNames } from './names'

function levelWords(t: Translate): Record<Level, string> {
  return { all: t('All'), warning: t('Warnings'), error: t('Errors') }
}

/** The filter in words; '' if there is none. */
export function wordsOf(t: Translate, wanted: Wanted, nameOf: (task: string) => string): string {
  const parts = [
    wanted.level !== 'all' && levelWords(t)[wanted.level],
    wanted.task && nameOf(wanted.task),
    wanted.attempt && t('attempt {n}', { n: wanted.attempt }),
    wanted.find.trim() && `“${wanted.find.trim()}”`,
  ]
  return parts.filter(Boolean).join(' · ')
}

/** What is said of a file that ends before the log does. */
export function cutWords(t: Translate, entries: number): string {
  return t('The file ends after the first {n} entries; there are later ones. Narrow the logs to have those.', { n: entries.toLocaleString(locale()) })
}

interface Props {
  wanted: Wanted
  known: Known
  running: boolean
  follow: boolean
  onWant: (wanted: Wanted) => void
  onFollow: (follow: boolean) => void
  onKeep: () => void
}

export function LogBar({ wanted, known, running, follow, onWant, onFollow, onKeep }: Props) {
  const t = useT()
  const names = useNames()
  const words = levelWords(t)
  const tasks = known.tasks.map((id) => ({ id, text: names.ofTask(id) })).sort((a, b) => a.text.localeCompare(b.text))
  const attempts = Array.from({ length: known.attempts }, (_, at) => ({ id: String(at + 1), text: `#${at + 1}` }))
  return (
    <div role="search" className="flex flex-wrap items-center gap-2 border-b border-line p-2">
      <input
        type="search"
        aria-label={t('Find in the logs')}
        placeholder={t('Find in the logs')}
        value={wanted.find}
        onChange={(event) => onWant({ ...wanted, find: event.target.value })}
        className={`${FIELD} min-w-40 flex-1`}
      />
      {tasks.length > 1 && <Pick label={t('Task')} value={wanted.task} options={tasks} onPick={(task) => onWant({ ...wanted, task })} />}
      {attempts.length > 1 && <Pick label={t('Attempt')} value={wanted.attempt} options={attempts} onPick={(attempt) => onWant({ ...wanted, attempt })} />}
      <Choices label={t('Level')} value={wanted.level} onChange={(level) => onWant({ ...wanted, level })} choices={LEVELS.map((id) => ({ id, text: words[id] }))} />
      {running && (
        <Button icon="down" aria-pressed={follow} className={follow ? 'border-accent text-accent' : ''} onClick={() => onFollow(!follow)}>
          {t('Follow')}
        </Button>
      )}
      <Button icon="download" onClick={onKeep}>
        {t('Download')}
      </Button>
    </div>
  )
}

interface PickProps {
  label: string
  value: string
  options: readonly { id: string; text: string }[]
  onPick: (value: string) => void
}

function Pick({ label, value, options, onPick }: PickProps) {
  const t = useT()
  return (
    <select aria-label={label} className={`${FIELD} max-w-44`} value={value} onChange={(event) => onPick(event.target.value)}>
      <option value="">
        {label}: {t('All')}
      </option>
      {options.map((one) => (
        <option key={one.id} value={one.id}>
          {one.text}
        </option>
      ))}
    </select>
  )
}
