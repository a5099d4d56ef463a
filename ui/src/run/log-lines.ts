/** Finding text in a log, and telling what is serious. */

export const LEVELS = ['all', 'warning', 'error'] as const
export type Level = (typeof LEVELS)[number]

const ERROR = /\b(ERROR|CRITICAL|FATAL|PANIC|Traceback|[A-Z]\w*(Error|Exception))\b/
const WARNING = /\bWARN(ING)?\b/i

/** How serious a line says it is. Programs write as they like: a word that all loggers have tells. */
export function levelOf(text: string): Level {
  return ERROR.test(text) ? 'error' : WARNING.test(text) ? 'warning' : 'all'
}

export interface LogLine {
  number: number
  text: string
}

/** The lines that contain a text, whatever its case, and are at least so serious, with their numbers. */
export function linesWith(log: string, find: string, level: Level = 'all'): LogLine[] {
  const wanted = find.trim().toLowerCase()
  const lines = log.split('\n').map((text, at) => ({ number: at + 1, text }))
  const serious = (text: string) => LEVELS.indexOf(levelOf(text)) >= LEVELS.indexOf(level)
  return lines.filter((line) => (!wanted || line.text.toLowerCase().includes(wanted)) && (level === 'all' || serious(line.text)))
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
