/** Colours that programs write into their logs, as pieces with a look; what is no colour is left out. */

export interface Piece {
  text: string
  look: string
}

const COLOURS: Record<number, string> = { 0: 'text-soft', 1: 'text-bad', 2: 'text-ok', 3: 'text-wait', 4: 'text-accent', 5: 'text-verify', 6: 'text-run', 7: '' }
// An escape, a bracket, numbers, and a letter that says what they are for: m is for looks.
const CODE = new RegExp(`${String.fromCharCode(27)}\\[([0-9;]*)([A-Za-z])`, 'g')

interface Look {
  colour: string
  bold: boolean
  faint: boolean
  under: boolean
}

const PLAIN: Look = { colour: '', bold: false, faint: false, under: false }

export function piecesOf(line: string): Piece[] {
  const pieces: Piece[] = []
  let look = PLAIN
  let from = 0
  const add = (text: string) => text && pieces.push({ text, look: classOf(look) })
  for (const found of line.matchAll(CODE)) {
    add(line.slice(from, found.index))
    from = found.index + found[0].length
    if (found[2] === 'm') look = after(look, found[1] ?? '')
  }
  add(line.slice(from))
  return pieces
}

/** The text without its colours. */
export function plain(text: string): string {
  return text.replace(CODE, '')
}

function after(look: Look, codes: string): Look {
  const numbers = codes.split(';').map(Number)
  let next = look
  for (let at = 0; at < numbers.length; at += 1) {
    const code = numbers[at] as number
    if (code === 0) next = PLAIN
    else if (code === 1) next = { ...next, bold: true }
    else if (code === 2) next = { ...next, faint: true }
    else if (code === 4) next = { ...next, under: true }
    else if (code === 22) next = { ...next, bold: false, faint: false }
    else if (code === 24) next = { ...next, under: false }
    else if (code === 39) next = { ...next, colour: '' }
    else if (code >= 30 && code <= 37) next = { ...next, colour: COLOURS[code - 30] as string }
    else if (code >= 90 && code <= 97) next = { ...next, colour: COLOURS[code - 90] as string }
    // A colour of many: its own numbers follow, and none of ours is it.
    else if (code === 38 || code === 48) at += numbers[at + 1] === 5 ? 2 : 4
  }
  return next
}

function classOf(look: Look): string {
  return [look.colour, look.bold && 'font-bold', look.faint && 'text-soft', look.under && 'underline'].filter(Boolean).join(' ')
}
