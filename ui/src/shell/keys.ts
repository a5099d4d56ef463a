/** Keyboard shortcuts. Single keys do nothing while somebody types, and can be turned off. */
import { useEffect, useRef } from 'react'

import { getPrefs } from '@/prefs'

export type Keys = Record<string, () => void>

const layers: { current: Keys }[] = []
let prefix = ''
let prefixAt = 0

function typing(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || ['INPUT', 'TEXTAREA', 'SELECT'].includes(target.tagName))
  )
}

function find(name: string): (() => void) | undefined {
  for (let at = layers.length - 1; at >= 0; at -= 1) {
    const found = layers[at]?.current[name]
    if (found) return found
  }
  return undefined
}

function onKey(event: KeyboardEvent): void {
  const mod = event.metaKey || event.ctrlKey
  if (mod || event.altKey) {
    const found = mod && !event.altKey ? find(`mod+${event.key.toLowerCase()}`) : undefined
    if (found) {
      event.preventDefault()
      found()
    }
    return
  }
  if (!getPrefs().keys || typing(event.target) || document.querySelector('[role=dialog], [role=menu]')) return
  const fresh = event.timeStamp - prefixAt < 1200 ? prefix : ''
  const found = (fresh && find(`${fresh} ${event.key}`)) || find(event.key)
  prefix = event.key === 'g' ? 'g' : ''
  prefixAt = event.timeStamp
  if (!found) return
  event.preventDefault()
  found()
}

window.addEventListener('keydown', onKey)

/** Shortcuts that hold while a component is shown; later ones win over earlier ones. */
export function useKeys(keys: Keys): void {
  const layer = useRef(keys)
  layer.current = keys
  useEffect(() => {
    layers.push(layer)
    return () => {
      layers.splice(layers.indexOf(layer), 1)
    }
  }, [])
}
