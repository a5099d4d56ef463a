/** A graph too large for DOM nodes: drawn on a canvas, moved and zoomed by hand. */
import { useEffect, useMemo, useRef, useState } from 'react'

import { useT } from '@/i18n'
import { Button } from '@/parts/basics'
import { lookOf } from '@/parts/status'
import { useKeys } from '@/shell/keys'

import type { Layout, Placed } from './layout'
import type { GraphViewProps } from './view'

interface View {
  x: number
  y: number
  zoom: number
}

interface Spot extends Placed {
  absX: number
  absY: number
}

/** Corners on the whole plane; parents come before what lies in them. */
function absolute(layout: Layout): Map<string, Spot> {
  const spots = new Map<string, Spot>()
  for (const place of layout.placed) {
    const parent = spots.get(place.parent)
    spots.set(place.id, { ...place, absX: place.x + (parent?.absX ?? 0), absY: place.y + (parent?.absY ?? 0) })
  }
  return spots
}

export function CanvasGraph({ drawing, layout, selected, onSelect }: GraphViewProps & { layout: Layout }) {
  const t = useT()
  const canvas = useRef<HTMLCanvasElement>(null)
  const [view, setView] = useState<View | null>(null)
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
    const frame = requestAnimationFrame(() => draw(element, view))
    return () => cancelAnimationFrame(frame)
  })
  const draw = (element: HTMLCanvasElement, at: View) => {
    const ratio = devicePixelRatio
    const { width, height } = element.getBoundingClientRect()
    element.width = width * ratio
    element.height = height * ratio
    const pen = element.getContext('2d')
    if (!pen) return
    const css = getComputedStyle(element)
    const color = (name: string) => css.getPropertyValue(name)
    pen.setTransform(at.zoom * ratio, 0, 0, at.zoom * ratio, at.x * ratio, at.y * ratio)
    const shown = (spot: Spot) => {
      const x = spot.absX * at.zoom + at.x
      const y = spot.absY * at.zoom + at.y
      return x < width && y < height && x + spot.width * at.zoom > 0 && y + spot.height * at.zoom > 0
    }
    pen.strokeStyle = color('--line')
    pen.lineWidth = 1 / at.zoom
    pen.beginPath()
    for (const wire of drawing.wires) {
      const from = spots.get(wire.from)
      const to = spots.get(wire.to)
      if (!from || !to || (!shown(from) && !shown(to))) continue
      const y0 = from.absY + from.height / 2
      const y1 = to.absY + to.height / 2
      const x0 = from.absX + from.width
      const bend = Math.max(30, (to.absX - x0) / 2)
      pen.moveTo(x0, y0)
      pen.bezierCurveTo(x0 + bend, y0, to.absX - bend, y1, to.absX, y1)
    }
    pen.stroke()
    pen.font = '12px sans-serif'
    for (const spot of spots.values()) {
      const cell = drawing.cells.get(spot.id)
      if (!cell || !shown(spot)) continue
      const look = lookOf(cell.state)
      const far = at.zoom < 0.35 && !cell.group && cell.state
      pen.fillStyle = color(far ? look.color : cell.group ? '--sunk' : '--panel')
      pen.strokeStyle = cell.state ? color(look.color) : color('--line')
      pen.lineWidth = cell.task === selected && selected ? 5 : 2
      pen.fillRect(spot.absX, spot.absY, spot.width, spot.height)
      pen.strokeRect(spot.absX, spot.absY, spot.width, spot.height)
      if (at.zoom < 0.35) continue
      pen.fillStyle = color('--text')
      pen.fillText(`${look.icon} ${cell.name} ${cell.folded}`, spot.absX + 8, spot.absY + 20, spot.width - 16)
    }
  }
  const zoomBy = (factor: number, cx: number, cy: number) =>
    setView((old) => {
      if (!old) return old
      const zoom = Math.min(2, Math.max(0.01, old.zoom * factor))
      const k = zoom / old.zoom
      return { zoom, x: cx - (cx - old.x) * k, y: cy - (cy - old.y) * k }
    })
  const hit = (x: number, y: number): Spot | undefined => {
    if (!view) return undefined
    const px = (x - view.x) / view.zoom
    const py = (y - view.y) / view.zoom
    return [...spots.values()]
      .reverse()
      .find((s) => px >= s.absX && px <= s.absX + s.width && py >= s.absY && py <= s.absY + s.height)
  }
  return (
    <div className="relative min-h-96 flex-1" data-graph={drawing.boxes.length}>
      <canvas
        ref={canvas}
        role="img"
        aria-label={t('{n} nodes; the list has them all', { n: drawing.boxes.length })}
        className="absolute inset-0 h-full w-full touch-none"
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
          if (drag.current && !drag.current.moved) {
            const cell = drawing.cells.get(hit(event.nativeEvent.offsetX, event.nativeEvent.offsetY)?.id ?? '')
            if (cell?.task) onSelect?.(cell.task)
          }
          drag.current = null
        }}
      />
      <div className="absolute bottom-2 left-2">
        <Button onClick={fit}>{t('Fit the graph')}</Button>
      </div>
    </div>
  )
}
