/** Draws a large graph; knows nothing of React. */
import { lookOf } from '@/parts/status'

import type { Drawing } from './drawing'
import type { Layout, Placed } from './layout'

export interface View {
  x: number
  y: number
  zoom: number
}

export interface Spot extends Placed {
  absX: number
  absY: number
}

/** Below this, names could not be read and cells are filled with the colour of their state instead. */
const FAR = 0.35

/** Corners on the whole plane; parents come before what lies in them. */
export function absolute(layout: Layout): Map<string, Spot> {
  const spots = new Map<string, Spot>()
  for (const place of layout.placed) {
    const parent = spots.get(place.parent)
    spots.set(place.id, { ...place, absX: place.x + (parent?.absX ?? 0), absY: place.y + (parent?.absY ?? 0) })
  }
  return spots
}

/** The innermost cell at a point of the page. */
export function spotAt(spots: ReadonlyMap<string, Spot>, view: View, x: number, y: number): Spot | undefined {
  const px = (x - view.x) / view.zoom
  const py = (y - view.y) / view.zoom
  return [...spots.values()].findLast(
    (spot) => px >= spot.absX && px <= spot.absX + spot.width && py >= spot.absY && py <= spot.absY + spot.height,
  )
}

/** The view moved just so far that a cell is seen whole, with some room around it. */
export function reveal(view: View, spot: Spot, width: number, height: number, room = 40): View {
  const left = spot.absX * view.zoom + view.x
  const top = spot.absY * view.zoom + view.y
  const shift = (at: number, size: number, all: number) => {
    if (at < room || size > all - 2 * room) return room - at
    return Math.min(0, all - room - at - size)
  }
  return { ...view, x: view.x + shift(left, spot.width * view.zoom, width), y: view.y + shift(top, spot.height * view.zoom, height) }
}

export function drawGraph(canvas: HTMLCanvasElement, drawing: Drawing, spots: ReadonlyMap<string, Spot>, at: View, selected?: string, focused?: string): void {
  const ratio = devicePixelRatio
  const { width, height } = canvas.getBoundingClientRect()
  canvas.width = width * ratio
  canvas.height = height * ratio
  const pen = canvas.getContext('2d')
  if (!pen) return
  const css = getComputedStyle(canvas)
  const known = new Map<string, string>()
  const color = (name: string) => {
    let found = known.get(name)
    if (found === undefined) known.set(name, (found = css.getPropertyValue(name)))
    return found
  }
  pen.setTransform(at.zoom * ratio, 0, 0, at.zoom * ratio, at.x * ratio, at.y * ratio)
  const shown = (spot: Spot) => {
    const x = spot.absX * at.zoom + at.x
    const y = spot.absY * at.zoom + at.y
    return x < width && y < height && x + spot.width * at.zoom > 0 && y + spot.height * at.zoom > 0
  }
  drawWires(pen, drawing, spots, at, shown, color('--line'))
  pen.font = `12px ${css.fontFamily}`
  for (const spot of spots.values()) {
    const cell = drawing.cells.get(spot.id)
    if (!cell || !shown(spot)) continue
    const look = lookOf(cell.state)
    const filled = at.zoom < FAR && !cell.group && cell.state
    pen.fillStyle = color(filled ? look.color : cell.group ? '--sunk' : '--panel')
    pen.strokeStyle = cell.state ? color(look.color) : color('--edge')
    pen.lineWidth = cell.task === selected && selected ? 5 : 2
    pen.fillRect(spot.absX, spot.absY, spot.width, spot.height)
    pen.strokeRect(spot.absX, spot.absY, spot.width, spot.height)
    if (spot.id === focused) {
      pen.strokeStyle = color('--accent')
      pen.lineWidth = 3 / at.zoom
      const gap = 4 / at.zoom
      pen.strokeRect(spot.absX - gap, spot.absY - gap, spot.width + 2 * gap, spot.height + 2 * gap)
    }
    if (at.zoom < FAR) continue
    pen.fillStyle = color('--text')
    pen.fillText(`${look.sign} ${cell.name} ${cell.folded}`, spot.absX + 8, spot.absY + 20, spot.width - 16)
    // What lies in a group begins where its second line would be.
    if (cell.group) continue
    pen.fillStyle = color('--soft')
    pen.fillText(cell.error || cell.detail, spot.absX + 8, spot.absY + 40, spot.width - 16)
  }
}

function drawWires(
  pen: CanvasRenderingContext2D,
  drawing: Drawing,
  spots: ReadonlyMap<string, Spot>,
  at: View,
  shown: (spot: Spot) => boolean,
  color: string,
): void {
  pen.strokeStyle = color
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
}
