/** A reason as a sentence in the language of the page, as it is at a moment. */
import type { Reason, Why } from '@/api/types'
import { asWritten } from '@/graph/names'
import { getPrefs } from '@/prefs'

import { en } from './en'
import { Said } from './words'
import { zh } from './zh'

/** Null for a code of a newer server, which this page has no words for. */
export function sayReason(reason: Reason, now: number, nameOf: (path: string) => string = asWritten, language: string = getPrefs().language): string | null {
  const words = language === 'zh' ? zh : en
  return words[reason.code]?.(new Said(reason.values, now, nameOf)) ?? null
}

/** The line of a run; the server's own English where its code is unknown here. */
export function sayWhy(why: Why, now: number, nameOf: (path: string) => string = asWritten, language: string = getPrefs().language): string {
  const said = sayReason(why.reason, now, nameOf, language)
  if (said === null) return why.line
  const more = why.more ? (language === 'zh' ? `（另有 ${why.more} 个）` : ` (and ${why.more} more)`) : ''
  if (!why.cancelling) return said + more
  return (language === 'zh' ? '正在取消：' : 'Being cancelled: ') + said + more
}
