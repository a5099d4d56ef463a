/** What a person set about the UI, kept in this browser. */
import { useSyncExternalStore } from 'react'

import type { Zone } from '@/time/format'

export interface Prefs {
  theme: 'system' | 'light' | 'dark'
  zone: Zone
  language: 'en' | 'zh'
  keys: boolean
  /** How wide the task beside a run's view is, in px. */
  inspector: number
}

const KEY = 'windlass.prefs'
const START: Prefs = {
  theme: 'system',
  zone: 'local',
  language: navigator.language.startsWith('zh') ? 'zh' : 'en',
  keys: true,
  inspector: 460,
}

function read(): Prefs {
  try {
    return { ...START, ...(JSON.parse(localStorage.getItem(KEY) ?? '{}') as Partial<Prefs>) }
  } catch {
    return START
  }
}

let prefs = read()
const listeners = new Set<() => void>()

export function getPrefs(): Prefs {
  return prefs
}

export function setPrefs(change: Partial<Prefs>): void {
  prefs = { ...prefs, ...change }
  localStorage.setItem(KEY, JSON.stringify(prefs))
  show()
  listeners.forEach((listener) => listener())
}

export function usePrefs(): Prefs {
  return useSyncExternalStore((listener) => {
    listeners.add(listener)
    return () => listeners.delete(listener)
  }, getPrefs)
}

/** Put theme and language where style sheets and screen readers look for them. */
export function show(): void {
  const dark = matchMedia('(prefers-color-scheme: dark)').matches
  const theme = prefs.theme === 'system' ? (dark ? 'dark' : 'light') : prefs.theme
  document.documentElement.dataset.theme = theme
  document.documentElement.lang = prefs.language === 'zh' ? 'zh-CN' : 'en'
}

matchMedia('(prefers-color-scheme: dark)').addEventListener('change', show)
window.addEventListener('storage', (event) => {
  if (event.key !== KEY) return
  prefs = read()
  show()
  listeners.forEach((listener) => listener())
})
