/** The last part of the way to what is on the page, said by the page itself. */
import { useEffect, useSyncExternalStore } from 'react'

let crumb = ''
const listeners = new Set<() => void>()

function set(text: string): void {
  crumb = text
  listeners.forEach((listener) => listener())
}

export function useCrumb(text: string): void {
  useEffect(() => {
    set(text)
    return () => set('')
  }, [text])
}

export function useShownCrumb(): string {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => crumb,
  )
}
