/** Finding text in a line of a log. */

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
