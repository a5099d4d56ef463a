/**
 * A graph too large for DOM nodes: drawn on a canvas, moved and zoomed by hand. It is one stop for
 * the keyboard: arrows go from cell to cell, Enter opens one, and what is gone to is said aloud.
 */
import { useEffect, useMemo, useRef, useState } from 'react'

import { stateWord, useT } from '@/i18n'
import { Button, IconButton } from '@/parts/basics'
import { usePrefs } from '@/prefs'
import { useKeys } from '@/shell/keys'

import { absolute, drawGraph, reveal, spotAt, type View } from './canvas-draw'
import type { Layout } from './layout'
import { nextCell } from './steer'
import type { GraphViewProps } from './view'

export function CanvasGraph({ drawing, layout, selected, onSelect }: GraphViewProps & { layout: Layout }) {
  const t = useT()
  const { theme } = usePrefs()
  const canvas = useRef<HTMLCanvasElement>(null)
  const [view, setView] = useState<View | null>(null)
  const [focused, setFocused] = useState('')
  const spots = useMemo(() => absolute(layout), [layout])
  const drag = useRef<{ x: number; y: number; moved: boolean } | null>(null)
  const fit = () => {
    const box = canvas.current?.getBoundingClientRect()
    if (!box) return
    const zoom = Math.min(1, box.width / (layout.width + 40), box.height / (layout.height + 40))
    setView({ x: (box.width - layout.width * zoom) / 2, y: (box.height - layout.height * zoom) / 2, zoom })
  }
  useKeys({ f: fit })
  useEffect(fit, [])
  useEffect(() => {
    const element = canvas.current
    if (!element || !view) return
    const frame = requestAnimationFrame(() => drawGraph(element, drawing, spots, view, selected, focused))
    return () => cancelAnimationFrame(frame)
  }, [drawing, spots, view, selected, focused, theme])
  const zoomBy = (factor: number, cx: number, cy: number) =>
    setView((old) => {
      if (!old) return old
      const zoom = Math.min(2, Math.max(0.01, old.zoom * factor))
      const k = zoom / old.zoom
      return { zoom, x: cx - (cx - old.x) * k, y: cy - (cy - old.y) * k }
    })
  const zoomInMiddle = (factor: number) => {
    const box = canvas.current?.getBoundingClientRect()
    zoomBy(factor, (box?.width ?? 0) / 2, (box?.height ?? 0) / 2)
  }
  const open = (id: string) => {
    const task = drawing.cells.get(id)?.task
    if (task) onSelect?.(task)
  }
  const goTo = (id: string) => {
    const spot = spots.get(id)
    const box = canvas.current?.getBoundingClientRect()
    if (!spot || !box) return
    setFocused(id)
    // From far away one would not see where one is.
    setView((old) => old && reveal(old.zoom < 0.5 ? { ...old, zoom: 0.8 } : old, spot, box.width, box.height))
  }
  const onKeyDown = (event: React.KeyboardEvent) => {
    if (event.key === '+' || event.key === '-') zoomInMiddle(event.key === '+' ? 1.25 : 0.8)
    else if (event.key === 'Enter' && focused) open(focused)
    else if (event.key.startsWith('Arrow') || event.key === 'Home' || event.key === 'End') goTo(nextCell(spots, focused, event.key))
    else return
    event.preventDefault()
  }
  const cell = drawing.cells.get(focused)
  return (
    <div className="relative min-h-96 flex-1" data-graph={drawing.boxes.length} data-focused={focused} data-zoom={view?.zoom}>
      <canvas
        ref={canvas}
        role="application"
        tabIndex={0}
        aria-label={t('{n} nodes; arrows move, Enter opens, the list has them all', { n: drawing.boxes.length })}
        className="absolute inset-0 h-full w-full touch-none"
        onKeyDown={onKeyDown}
        onWheel={(event) => zoomBy(event.deltaY < 0 ? 1.15 : 0.87, event.nativeEvent.offsetX, event.nativeEvent.offsetY)}
        onPointerDown={(event) => {
          drag.current = { x: event.clientX, y: event.clientY, moved: false }
        }}
        onPointerMove={(event) => {
          const from = drag.current
          if (!from) return
          const dx = event.clientX - from.x
          const dy = event.clientY - from.y
          if (!from.moved && Math.abs(dx) + Math.abs(dy) < 4) return
          drag.current = { x: event.clientX, y: event.clientY, moved: true }
          setView((old) => old && { ...old, x: old.x + dx, y: old.y + dy })
        }}
        onPointerUp={(event) => {
          const spot = view && !drag.current?.moved ? spotAt(spots, view, event.nativeEvent.offsetX, event.nativeEvent.offsetY) : undefined
          if (spot) {
            setFocused(spot.id)
            open(spot.id)
          }
          drag.current = null
        }}
      />
      <div className="absolute bottom-2 left-2 flex gap-1">
        <Button onClick={fit}>{t('Fit the graph')}</Button>
        <IconButton look="plain" icon="add" label={t('Zoom in')} onClick={() => zoomInMiddle(1.25)} />
        <IconButton look="plain" icon="minus" label={t('Zoom out')} onClick={() => zoomInMiddle(0.8)} />
      </div>
      <div role="status" className={cell ? 'absolute top-2 left-2 rounded border border-line bg-panel px-2 py-1 text-xs shadow' : 'sr-only'}>
        {cell && `${cell.name} ${cell.folded} ${stateWord(t, cell.state) || t('not reached')}`}
      </div>
    </div>
  )
}
