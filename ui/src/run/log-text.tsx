/** The text of an entry, in the colours its program chose or with what is looked for marked. */
import { type Piece, piecesOf, plain } from '@/code/ansi'

import { marked } from './log-lines'

export function LogText({ text, find }: { text: string; find: string }) {
  if (find.trim()) return <Marked text={plain(text)} find={find} />
  return piecesOf(text).map((piece, at) => <Coloured key={at} {...piece} />)
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
