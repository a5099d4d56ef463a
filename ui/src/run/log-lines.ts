/** Finding text in a log. */

export interface LogLine {
  number: number
  text: string
}

/** The lines that contain a text, whatever its case, with their numbers; all of them for no text. */
export function linesWith(log: string, find: string): LogLine[] {
  const wanted = find.trim().toLowerCase()
  const lines = log.split('\n').map((text, at) => ({ number: at + 1, text }))
  return wanted ? lines.filter((line) => line.text.toLowerCase().includes(wanted)) : lines
}

/** A line in pieces; every second one is what was looked for. */
export function marked(text: string, find: string): string[] {
  const wanted = find.trim().toLowerCase()
  if (!wanted) return [text]
  const pieces: string[] = []
  const low = text.toLowerCase()
  let at = 0
  for (let hit = low.indexOf(wanted); hit >= 0; hit = low.indexOf(wanted, at)) {
    pieces.push(text.slice(at, hit), text.slice(hit, hit + wanted.length))
    at = hit + wanted.length
  }
  pieces.push(text.slice(at))
  return pieces
}
