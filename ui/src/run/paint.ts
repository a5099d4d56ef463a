/** Draws the timeline; knows nothing of React. */
import { locale } from '@/i18n'
import { lookOf } from '@/parts/status'
import { formatSpan, formatTick, type Zone } from '@/time/format'
import { tickStep, type TimeMap } from '@/time/gaps'
import type { Lane, TimeSpan } from '@/time/spans'

export interface Range {
  from: number
  to: number
}

export interface PlacedLane extends Lane {
  top: number
  bottom: number
}

export interface Hit {
  span: TimeSpan
  x: number
  y: number
  w: number
  h: number
}

interface Scene {
  lanes: readonly PlacedLane[]
  map: TimeMap
  shown: Range
  scroll: number
  selected?: string
  brush: { from: number; to: number } | null
  zone: Zone
}

const LABEL = 150
const AXIS = 26
/** A bar of 18 px and the gap to the next row. */
const BAR = 18
const ROW = 22
const PAD = 10
const BAR_MIN = 3

export function placeLanes(lanes: readonly Lane[]): PlacedLane[] {
  let top = AXIS + 4
  return lanes.map((lane) => {
    const placed = { ...lane, top, bottom: top + lane.rows.length * ROW + PAD }
    top = placed.bottom
    return placed
  })
}

export function paint(canvas: HTMLCanvasElement, scene: Scene): Hit[] {
  const ratio = devicePixelRatio
  const width = canvas.clientWidth
  const height = canvas.clientHeight
  if (canvas.width !== width * ratio) canvas.width = width * ratio
  if (canvas.height !== height * ratio) canvas.height = height * ratio
  const pen = canvas.getContext('2d')
  if (!pen) return []
  const css = getComputedStyle(canvas)
  const known = new Map<string, string>()
  const color = (name: string) => {
    let found = known.get(name)
    if (found === undefined) known.set(name, (found = css.getPropertyValue(name).trim()))
    return found
  }
  pen.setTransform(ratio, 0, 0, ratio, 0, 0)
  pen.clearRect(0, 0, width, height)
  pen.font = `11px ${css.fontFamily}`
  const { map, shown } = scene
  const scale = (width - LABEL - 8) / Math.max(1, shown.to - shown.from)
  const px = (time: number) => LABEL + (map.toX(time) - shown.from) * scale
  paintCuts(pen, scene, width, height, scale, color)
  const hits = paintLanes(pen, scene, width, height, px, color)
  paintAxis(pen, scene, width, px, color)
  if (scene.brush) {
    pen.fillStyle = `${color('--accent')}33`
    pen.fillRect(Math.min(scene.brush.from, scene.brush.to), AXIS, Math.abs(scene.brush.to - scene.brush.from), height)
  }
  return hits
}

type Pen = CanvasRenderingContext2D
type Color = (name: string) => string

function paintLanes(pen: Pen, scene: Scene, width: number, height: number, px: (time: number) => number, color: Color): Hit[] {
  const hits: Hit[] = []
  for (const lane of scene.lanes) {
    const top = lane.top - scene.scroll
    const bottom = lane.bottom - scene.scroll
    if (bottom < AXIS || top > height) continue
    pen.strokeStyle = color('--line')
    pen.lineWidth = 1
    pen.beginPath()
    pen.moveTo(0, bottom - 0.5)
    pen.lineTo(width, bottom - 0.5)
    pen.stroke()
    lane.rows.forEach((row, at) => {
      const y = top + PAD / 2 + at * ROW + (ROW - BAR) / 2
      let free = 0
      const spans = row ?? []
      spans.forEach((span, index) => {
        const x0 = Math.max(LABEL, px(span.from))
        const x1 = Math.min(width, px(span.to))
        if (x1 < LABEL || x0 > width || x1 < x0) return
        const w = Math.max(BAR_MIN, x1 - x0)
        // What would be hidden under the bar before it is not drawn.
        if (x0 + w <= free) return
        free = x0 + w
        const next = spans[index + 1]
        const room = (next ? Math.min(width, px(next.from)) : width) - (x0 + w)
        paintBar(pen, { span, x: x0, y, w, room, selected: span.task === scene.selected }, color)
        hits.push({ span, x: x0, y, w, h: BAR })
      })
    })
    pen.fillStyle = color('--panel')
    pen.fillRect(0, top, LABEL - 4, bottom - top - 1)
    pen.fillStyle = color('--text')
    pen.fillText(fitText(pen, lane.name, LABEL - 20), 12, top + PAD / 2 + ROW / 2 + 4)
  }
  return hits
}

function fitText(pen: Pen, text: string, width: number): string {
  if (pen.measureText(text).width <= width) return text
  let cut = text
  while (cut.length > 1 && pen.measureText(`…${cut}`).width > width) cut = cut.slice(1)
  return `…${cut}`
}

interface Bar {
  span: TimeSpan
  x: number
  y: number
  w: number
  /** What is free to the right of it. */
  room: number
  selected: boolean
}

/**
 * Told apart by shape as well as by colour: work is a soft bar with a solid left edge, a queue a
 * hairline, a pause before a retry dotted, a wait for somebody a hollow bar.
 */
function paintBar(pen: Pen, { span, x, y, w, room, selected }: Bar, color: Color): void {
  const look = lookOf(span.kind === 'run' ? span.state : span.kind === 'queue' ? 'queued' : 'waiting')
  const ink = color(look.color)
  const middle = Math.round(y + BAR / 2) + 0.5
  const pause = span.kind === 'wait' && span.attempt > 0
  pen.strokeStyle = ink
  pen.lineWidth = 1
  if (span.kind === 'queue' || pause) {
    pen.setLineDash(pause ? [1, 3] : [])
    pen.beginPath()
    pen.moveTo(x, middle)
    pen.lineTo(x + w, middle)
    if (!pause) {
      pen.moveTo(x + 0.5, middle - 3)
      pen.lineTo(x + 0.5, middle + 3)
    }
    pen.stroke()
    pen.setLineDash([])
  } else {
    pen.fillStyle = color(look.fill)
    pen.beginPath()
    pen.roundRect(x, y, w, BAR, 3)
    pen.fill()
    pen.save()
    pen.clip()
    pen.fillStyle = ink
    pen.fillRect(x, y, 3, BAR)
    pen.restore()
    if (span.kind === 'wait') {
      pen.beginPath()
      pen.roundRect(x + 0.5, y + 0.5, Math.max(1, w - 1), BAR - 1, 3)
      pen.stroke()
    }
  }
  paintLabel(pen, { span, x, y, w, room, selected }, ink, color('--panel'))
  if (selected) {
    pen.strokeStyle = color('--accent')
    pen.lineWidth = 2
    pen.beginPath()
    pen.roundRect(x - 2, y - 2, w + 4, BAR + 4, 5)
    pen.stroke()
  }
}

/** How long it took, in the bar, else beside it where there is room. */
function paintLabel(pen: Pen, { span, x, y, w, room }: Bar, ink: string, ground: string): void {
  if (span.kind === 'queue') return
  const sign = span.kind === 'run' ? `${lookOf(span.state).sign} ` : ''
  const text = `${sign}${formatSpan(span.to - span.from)}`
  const size = pen.measureText(text).width
  pen.fillStyle = ink
  if (span.kind === 'wait' && span.attempt > 0) {
    if (size + 12 > w) return
    // A gap in the dots, so that the length can be read.
    pen.fillStyle = ground
    pen.fillRect(x + (w - size) / 2 - 4, y, size + 8, BAR)
    pen.fillStyle = ink
    pen.fillText(text, x + (w - size) / 2, y + 13)
  } else if (size + 12 <= w) pen.fillText(text, x + 7, y + 13)
  else if (size + 8 <= room) pen.fillText(text, x + w + 5, y + 13)
}

function paintCuts(pen: Pen, scene: Scene, width: number, height: number, scale: number, color: Color): void {
  for (const cut of scene.map.cuts) {
    const x = LABEL + (cut.at - scene.shown.from) * scale
    const w = cut.width * scale
    if (x + w < LABEL || x > width) continue
    pen.fillStyle = color('--sunk')
    pen.fillRect(x, AXIS, w, height)
    pen.strokeStyle = color('--soft')
    pen.setLineDash([3, 3])
    pen.beginPath()
    for (const at of [x, x + w]) {
      pen.moveTo(at, AXIS)
      pen.lineTo(at, height)
    }
    pen.stroke()
    pen.setLineDash([])
    pen.save()
    pen.translate(x + w / 2 + 4, AXIS + 8)
    pen.rotate(Math.PI / 2)
    pen.fillStyle = color('--soft')
    pen.fillText(formatSpan(cut.to - cut.from), 0, 0)
    pen.restore()
  }
}

function paintAxis(pen: Pen, scene: Scene, width: number, px: (time: number) => number, color: Color): void {
  pen.fillStyle = color('--panel')
  pen.fillRect(0, 0, width, AXIS)
  pen.fillStyle = color('--soft')
  pen.strokeStyle = color('--line')
  const { map, shown } = scene
  const step = tickStep(shown.to - shown.from, (width - LABEL) / 90)
  const zone: Zone = scene.zone === 'relative' ? 'local' : scene.zone
  let free = LABEL
  const first = Math.ceil(map.toTime(shown.from) / step) * step
  let left = 400
  for (let at = first; at <= map.toTime(shown.to) && left > 0; at += step) {
    const cut = map.cuts.find((one) => at > one.from && at < one.to)
    if (cut) {
      at = Math.max(at, Math.ceil(cut.to / step) * step - step)
      left -= 1
      continue
    }
    const x = px(at)
    const text = formatTick(at, step, zone, locale())
    if (x < free) continue
    pen.fillText(text, x + 3, 15)
    pen.beginPath()
    pen.moveTo(x, 8)
    pen.lineTo(x, AXIS)
    pen.stroke()
    free = x + pen.measureText(text).width + 14
    left -= 1
  }
  pen.fillText(zone === 'utc' ? 'UTC' : '', 8, 15)
}
