/** What an agent says while it works: its thoughts, its words and the tools it calls, line by line. */
import { useMemo } from 'react'

import { piecesOf, plain } from '@/code/ansi'
import { useT } from '@/i18n'
import { Icon } from '@/parts/icons'

export type Voice = 'thought' | 'call' | 'answer' | 'word'

export interface Utterance {
  voice: Voice
  text: string
}

const MARKS: readonly [string, Voice][] = [
  ['… ', 'thought'],
  ['→ ', 'call'],
  ['← ', 'answer'],
]
const LINES_MAX = 500

/** The lines of a log by who speaks. Agents mark what they think and call; all else is plain words. */
export function utterancesOf(log: string): Utterance[] {
  return log
    .split('\n')
    .filter((line) => line.trim())
    .slice(-LINES_MAX)
    .map((line) => {
      const mark = MARKS.find(([sign]) => line.startsWith(sign))
      return mark ? { voice: mark[1], text: line.slice(mark[0].length) } : { voice: 'word', text: line }
    })
}

export function AgentLog({ log }: { log: string }) {
  const t = useT()
  const said = useMemo(() => utterancesOf(log), [log])
  return (
    <ol tabIndex={0} aria-label={t('Log')} className="mb-2 ml-6 max-h-72 overflow-auto rounded-lg bg-sunk p-2 text-xs">
      {said.map((one, at) => (
        <li key={at} data-voice={one.voice} className="flex gap-1.5 py-px">
          <Line {...one} />
        </li>
      ))}
    </ol>
  )
}

function Line({ voice, text }: Utterance) {
  const t = useT()
  if (voice === 'thought') {
    return (
      <span className="text-soft italic wrap-anywhere">
        <span className="sr-only">{t('thinks')}: </span>
        {plain(text)}
      </span>
    )
  }
  if (voice === 'word') {
    return (
      <span className="font-mono whitespace-pre-wrap wrap-anywhere">
        {piecesOf(text).map((piece, at) => (
          <span key={at} className={piece.look}>
            {piece.text}
          </span>
        ))}
      </span>
    )
  }
  const [tool = '', ...rest] = plain(text).split(' ')
  return (
    <>
      <Icon name={voice === 'call' ? 'forward' : 'back'} size={12} className={`mt-0.5 ${voice === 'call' ? 'text-accent' : 'text-soft'}`} />
      <span className="min-w-0 font-mono wrap-anywhere">
        <span className="sr-only">{voice === 'call' ? t('calls') : t('was answered by')} </span>
        <b className="font-medium">{tool}</b> <span className="text-soft">{rest.join(' ')}</span>
      </span>
    </>
  )
}
