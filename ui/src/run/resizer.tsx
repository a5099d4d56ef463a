/** The line between a view and the task beside it: dragged, or moved with the arrow keys. */
import { useRef } from 'react'

import { useT } from '@/i18n'
import { setPrefs, usePrefs } from '@/prefs'

export const WIDTH_MIN = 300
export const WIDTH_MAX = 760
const STEP = 20

export function clampWidth(px: number): number {
  return Math.round(Math.min(WIDTH_MAX, Math.max(WIDTH_MIN, px)))
}

/** The width a key leads to; null for keys that mean nothing here. */
export function widthAfter(key: string, width: number): number | null {
  switch (key) {
    case 'ArrowLeft':
      return clampWidth(width + STEP)
    case 'ArrowRight':
      return clampWidth(width - STEP)
    case 'Home':
      return WIDTH_MAX
    case 'End':
      return WIDTH_MIN
    default:
      return null
  }
}

export function Resizer() {
  const t = useT()
  const width = clampWidth(usePrefs().inspector)
  const from = useRef<{ x: number; width: number } | null>(null)
  return (
    <div
      role="separator"
      tabIndex={0}
      aria-orientation="vertical"
      aria-label={t('Width of the task')}
      aria-valuemin={WIDTH_MIN}
      aria-valuemax={WIDTH_MAX}
      aria-valuenow={width}
      className="-mx-2 hidden w-1.5 shrink-0 cursor-col-resize touch-none self-stretch rounded hover:bg-accent focus-visible:bg-accent lg:block"
      onKeyDown={(event) => {
        const next = widthAfter(event.key, width)
        if (next === null) return
        event.preventDefault()
        setPrefs({ inspector: next })
      }}
      onPointerDown={(event) => {
        event.currentTarget.setPointerCapture(event.pointerId)
        from.current = { x: event.clientX, width }
      }}
      onPointerMove={(event) => {
        if (from.current) setPrefs({ inspector: clampWidth(from.current.width + from.current.x - event.clientX) })
      }}
      onPointerUp={() => {
        from.current = null
      }}
    />
  )
}
