/** Texts: English stands in the code, Chinese in a table the compiler holds complete. */
import { useCallback } from 'react'

import { getPrefs, usePrefs } from '@/prefs'

import { zh } from './zh'

export type Text = keyof typeof zh
type Values = Record<string, string | number>
export type Translate = (text: Text, values?: Values) => string

export function translate(language: string, text: Text, values: Values = {}): string {
  const found: string = language === 'zh' ? zh[text] : text
  return found.replace(/\{(\w+)\}/g, (whole, name: string) => String(values[name] ?? whole))
}

export function useT(): Translate {
  const { language } = usePrefs()
  return useCallback((text, values) => translate(language, text, values), [language])
}

export function locale(): string {
  return getPrefs().language === 'zh' ? 'zh-CN' : 'en-GB'
}

/** A state as a word; what is not in the table is shown as the server says it. */
export function stateWord(t: Translate, state: string): string {
  return state in zh ? t(state as Text) : state
}
