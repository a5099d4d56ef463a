/** A log, whole or only the lines with what is looked for. */
import { useMemo } from 'react'

import { type Piece, piecesOf, plain } from '@/code/ansi'
import { useT } from '@/i18n'

import { type Level, levelOf, linesWith, marked } from './log-lines'

const LINES_MAX = 2000
const TONES: Record<Level, string> = { all: '', warning: 'text-wait', error: 'text-bad' }

export function LogText({ log, find, level = 'all' }: { log: string; find: string; level?: Level }) {
  const t = useT()
  const lines = useMemo(() => linesWith(log, find, level), [log, find, level])
  return (
    <pre tabIndex={0} aria-label={t('Log')} className="mt-1 max-h-96 overflow-auto rounded bg-sunk p-2 font-mono text-xs">
      {lines.slice(-LINES_MAX).map((line) => (
        <div key={line.number} className={TONES[levelOf(line.text)]}>
          {find && <span className="mr-2 text-soft select-none">{line.number}</span>}
          {find ? <Marked text={plain(line.text)} find={find} /> : piecesOf(line.text).map((piece, at) => <Coloured key={at} {...piece} />)}
        </div>
      ))}
    </pre>
  )
}

function Marked({ text, find }: { text: string; find: string }) {
  return marked(text, find).map((piece, at) =>
    at % 2 ? (
      <mark key={at} className="bg-wait-soft text-wait">
        {piece}
      </mark>
    ) : (
      piece
    ),
  )
}

function Coloured({ text, look }: Piece) {
  return look ? <span className={look}>{text}</span> : text
}
