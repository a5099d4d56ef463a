/** A `details` that is a menu: Escape and a click beside it close it. */
import { type RefObject, useEffect, useRef } from 'react'

export function useMenu(): RefObject<HTMLDetailsElement | null> {
  const menu = useRef<HTMLDetailsElement>(null)
  useEffect(() => {
    const close = (back: boolean) => {
      const element = menu.current
      if (!element?.open) return
      element.open = false
      if (back) element.querySelector('summary')?.focus()
    }
    const onPointer = (event: PointerEvent) => {
      if (event.target instanceof Node && !menu.current?.contains(event.target)) close(false)
    }
    const onKey = (event: KeyboardEvent) => {
      if (event.key !== 'Escape' || !menu.current?.open) return
      // One press closes one thing: the menu, not also the task behind it.
      event.stopPropagation()
      close(true)
    }
    document.addEventListener('pointerdown', onPointer)
    document.addEventListener('keydown', onKey)
    return () => {
      document.removeEventListener('pointerdown', onPointer)
      document.removeEventListener('keydown', onKey)
    }
  }, [])
  return menu
}
