/** The filter grammar of lists, word for word the server's: see `windlass.engine.filters`. */
import { RUN_STATES } from '@/api/types'
import { type Translate, translate } from '@/i18n'

export interface Word {
  text: string
  negated: boolean
  key: string | null
  value: string
  from: number
  to: number
}

export interface Parsed {
  words: Word[]
  problem: string
}

export const KEYS = ['status', 'flow', 'version', 'tag', 'error', 'node', 'started', 'created', 'finished', 'updated']
const TIMES = new Set(['started', 'created', 'finished', 'updated'])
const WORD = /(-)?(?:([a-z]+):)?("(?:[^"\\]|\\.)*"|[^\s"]+)/y
const TIME = /^(<=|>=|<|>)(-?\d+(ms|s|m|h|d|w)|\d+)$/

const inEnglish: Translate = (text, values) => translate('en', text, values)

/** The words of a filter, and what is wrong with it as `t` says it. */
export function parseFilter(text: string, t: Translate = inEnglish): Parsed {
  const words: Word[] = []
  let at = text.length - text.trimStart().length
  while (at < text.trimEnd().length) {
    WORD.lastIndex = at
    const match = WORD.exec(text)
    if (!match) return { words, problem: t('cannot read the filter at "{text}"; close the quote?', { text: text.slice(at) }) }
    const [whole, minus, key, raw] = match as unknown as [string, string?, string?, string?]
    const value = raw?.startsWith('"') ? raw.slice(1, -1).replaceAll('\\"', '"') : (raw ?? '')
    const to = at + whole.length
    const word = { text: whole, negated: minus === '-', key: key ?? null, value, from: at, to }
    const problem = problemOf(word, t)
    if (problem) return { words, problem }
    words.push(word)
    at = to
    while (at < text.length && /\s/.test(text[at] as string)) at += 1
  }
  return { words, problem: '' }
}

function problemOf(word: Word, t: Translate): string {
  const { key, value } = word
  if (key === null) return ''
  if (!KEYS.includes(key)) return t('no filter "{key}:"; there are {all}', { key, all: KEYS.join(', ') })
  if (key === 'status') {
    const unknown = value.split(',').find((state) => !RUN_STATES.some((known) => known === state))
    return unknown === undefined ? '' : t('no status "{state}"; there are {all}', { state: unknown, all: RUN_STATES.join(', ') })
  }
  if (word.negated) return t('"-{key}:" is not supported; only "-status:" can be negated', { key })
  if (TIMES.has(key) && !TIME.test(value)) {
    return t('"{key}:{value}" needs a comparison, such as {key}:>-2h', { key, value })
  }
  return ''
}

/** The filter without one of its words. */
export function without(text: string, word: Word): string {
  return `${text.slice(0, word.from)}${text.slice(word.to)}`.replace(/\s+/g, ' ').trim()
}

/** The filter with a key set to a value, or without it when the value is empty. */
export function withKey(text: string, key: string, value: string): string {
  let rest = text
  for (const word of parseFilter(text).words.reverse()) {
    if (word.key === key && !word.negated) rest = without(rest, word)
  }
  const quoted = /[\s"]/.test(value) ? `"${value.replaceAll('"', '\\"')}"` : value
  return value ? `${rest} ${key}:${quoted}`.trim() : rest
}

/** What could complete the word the cursor stands in. */
export function suggestions(text: string, cursor: number, flows: readonly string[]): string[] {
  const word = text.slice(0, cursor).split(/\s/).at(-1) ?? ''
  const colon = word.indexOf(':')
  if (colon < 0) return word ? KEYS.filter((key) => key.startsWith(word)).map((key) => `${key}:`) : []
  const key = word.slice(0, colon).replace(/^-/, '')
  const typed = word.slice(colon + 1)
  if (key === 'status') {
    const parts = typed.split(',')
    const last = parts.pop() ?? ''
    const before = [...parts, ''].join(',')
    return RUN_STATES.filter((s) => s.startsWith(last) && s !== last).map((s) => `${key}:${before}${s}`)
  }
  if (key === 'flow') return flows.filter((f) => f.startsWith(typed) && f !== typed).slice(0, 8).map((f) => `flow:${f}`)
  if (TIMES.has(key) && !typed) return ['1h', '24h', '7d'].map((span) => `${key}:>-${span}`)
  return []
}
