/**
 * A layered layout, left to right. Nodes get the layer of their longest way from a start, are
 * ordered within layers by the middle of their neighbours, and groups are laid out inside first
 * and then count as one large node. What would be a long ribbon is turned to go down instead.
 * Pure; the worker calls it.
 */

export interface Box {
  id: string
  parent: string
  width: number
  height: number
  group: boolean
}

export interface Wire {
  from: string
  to: string
}

export interface Placed {
  id: string
  parent: string
  /** Relative to the parent's corner. */
  x: number
  y: number
  width: number
  height: number
}

export interface Layout {
  placed: Placed[]
  /** Where an edge passes between nodes on its way over several layers, on the whole plane. */
  bends: Record<string, [number, number][]>
  width: number
  height: number
  /** Whether the outermost layers go down the page rather than to the right. */
  down: boolean
}

/** What is wider than there is room for is turned when it is also this many times wider than high. */
const RIBBON = 2.5

const GAP_X = 64
const GAP_Y = 24
const PAD = 20
const HEAD = 34
const SWEEPS = 6
const GRID_FROM = 6
const BEND = 14
/** A dense graph has more long edges than places beside nodes would help; then they go straight. */
const BENDS_MAX = 3000

export function wireKey(wire: Wire): string {
  return `${wire.from}\n${wire.to}`
}

export function layout(boxes: readonly Box[], wires: readonly Wire[], room = Infinity): Layout {
  const children = new Map<string, Box[]>()
  for (const box of boxes) {
    const list = children.get(box.parent)
    if (list) list.push(box)
    else children.set(box.parent, [box])
  }
  const inside = new Map(boxes.map((box) => [box.id, box.parent]))
  const placed: Placed[] = []
  const bent: { scope: string; key: string; points: [number, number][] }[] = []
  const wiresOf = new Map<string, Wire[]>()
  for (const wire of wires) {
    const scope = inside.get(wire.from)
    if (scope === undefined || scope !== inside.get(wire.to)) continue
    const list = wiresOf.get(scope)
    if (list) list.push(wire)
    else wiresOf.set(scope, [wire])
  }
  let down = false
  const place = (scope: string): { width: number; height: number } => {
    const own = (children.get(scope) ?? []).map((box) => {
      if (!box.group || !children.has(box.id)) return box
      const inner = place(box.id)
      const width = Math.max(box.width, inner.width + 2 * PAD)
      return { ...box, width, height: Math.max(box.height, inner.height + PAD + HEAD) }
    })
    let found = placeScope(own, wiresOf.get(scope) ?? [])
    if (!scope && found.width > room && found.width > RIBBON * found.height && wiresOf.has(scope)) {
      down = true
      found = turned(placeScope(own.map((box) => ({ ...box, width: box.height, height: box.width })), wiresOf.get(scope) ?? []))
    }
    const { spots, bends, width, height } = found
    const [dx, dy] = scope ? [PAD, HEAD] : [0, 0]
    for (const [key, points] of bends) {
      bent.push({ scope, key, points: points.map(([x, y]) => [x + dx, y + dy]) })
    }
    for (const box of own) {
      const spot = spots.get(box.id) ?? { x: 0, y: 0 }
      const size = { width: box.width, height: box.height }
      placed.push({ id: box.id, parent: scope, x: spot.x + dx, y: spot.y + dy, ...size })
    }
    return { width, height }
  }
  const { width, height } = place('')
  placed.reverse()
  return { placed, bends: onPlane(placed, bent), width, height, down }
}

/** A scope with its two directions exchanged. */
function turned(found: ReturnType<typeof placeScope>): ReturnType<typeof placeScope> {
  const spots = new Map([...found.spots].map(([id, { x, y }]) => [id, { x: y, y: x }]))
  const bends: Bends = new Map([...found.bends].map(([key, points]) => [key, points.map(([x, y]): [number, number] => [y, x])]))
  return { spots, bends, width: found.height, height: found.width }
}

/** Bends as points of the whole plane; parents come before what lies in them. */
function onPlane(placed: readonly Placed[], bent: readonly { scope: string; key: string; points: [number, number][] }[]) {
  const corners = new Map<string, [number, number]>([['', [0, 0]]])
  for (const { id, parent, x, y } of placed) {
    const [px, py] = corners.get(parent) ?? [0, 0]
    corners.set(id, [px + x, py + y])
  }
  const bends: Record<string, [number, number][]> = {}
  for (const { scope, key, points } of bent) {
    const [sx, sy] = corners.get(scope) ?? [0, 0]
    bends[key] = points.map(([x, y]) => [x + sx, y + sy])
  }
  return bends
}

type Spot = { x: number; y: number }
type Bends = Map<string, [number, number][]>

/** Many boxes without edges, such as the branches of a fan-out: rows of a square. */
function placeGrid(boxes: readonly Box[]) {
  const columns = Math.ceil(Math.sqrt(boxes.length))
  const width = Math.max(...boxes.map((box) => box.width)) + GAP_Y
  const height = Math.max(...boxes.map((box) => box.height)) + GAP_Y
  const spots = new Map<string, Spot>()
  boxes.forEach((box, at) => spots.set(box.id, { x: (at % columns) * width, y: Math.floor(at / columns) * height }))
  const rows = Math.ceil(boxes.length / columns)
  const bends: Bends = new Map()
  return { spots, bends, width: columns * width - GAP_Y, height: rows * height - GAP_Y }
}

function placeScope(boxes: readonly Box[], wires: readonly Wire[]) {
  if (wires.length === 0 && boxes.length > GRID_FROM) return placeGrid(boxes)
  const { layers: full, links, chains } = withBends(layersOf(boxes, wires), wires)
  const layers = order(full, links)
  const sizes = new Map(boxes.map((box) => [box.id, box]))
  const tallOf = (id: string) => sizes.get(id)?.height ?? BEND
  const spots = new Map<string, Spot>()
  const tall = layers.map((layer) => layer.reduce((sum, id) => sum + tallOf(id) + GAP_Y, -GAP_Y))
  const height = tall.reduce((most, one) => Math.max(most, one), 0)
  let x = 0
  layers.forEach((layer, at) => {
    const width = layer.reduce((most, id) => Math.max(most, sizes.get(id)?.width ?? 0), 0)
    let y = (height - (tall[at] ?? 0)) / 2
    for (const id of layer) {
      spots.set(id, { x: sizes.has(id) ? x : x + width / 2, y })
      y += tallOf(id) + GAP_Y
    }
    x += width + GAP_X
  })
  const bends: Bends = new Map()
  for (const [key, ids] of chains) {
    const points = ids.map((id): [number, number] => [spots.get(id)?.x ?? 0, (spots.get(id)?.y ?? 0) + BEND / 2])
    bends.set(key, points)
  }
  return { spots, bends, width: Math.max(0, x - GAP_X), height }
}

/** Give an edge over several layers a place of its own in each, so it passes beside the nodes there. */
function withBends(layers: string[][], wires: readonly Wire[]) {
  const depth = new Map(layers.flatMap((layer, at) => layer.map((id) => [id, at] as const)))
  const full = layers.map((layer) => [...layer])
  const links: Wire[] = []
  const chains = new Map<string, string[]>()
  const spanOf = (wire: Wire) => (depth.get(wire.to) ?? 0) - (depth.get(wire.from) ?? 0)
  const count = wires.reduce((sum, wire) => sum + Math.max(0, spanOf(wire) - 1), 0)
  if (count > BENDS_MAX) return { layers, links: [...wires], chains }
  wires.forEach((wire, index) => {
    const from = depth.get(wire.from) ?? 0
    const to = from + spanOf(wire)
    let last = wire.from
    const ids: string[] = []
    for (let at = from + 1; at < to; at += 1) {
      const id = `\n${index}.${at}`
      full[at]?.push(id)
      links.push({ from: last, to: id })
      ids.push(id)
      last = id
    }
    links.push({ from: last, to: wire.to })
    if (ids.length) chains.set(wireKey(wire), ids)
  })
  return { layers: full, links, chains }
}

/** Edges that do not close a loop; found without recursion, so deep graphs are fine. */
export function forward(ids: readonly string[], wires: readonly Wire[]): Wire[] {
  const out = new Map<string, Wire[]>()
  for (const wire of wires) {
    const list = out.get(wire.from)
    if (list) list.push(wire)
    else out.set(wire.from, [wire])
  }
  const state = new Map<string, 'open' | 'done'>()
  const kept: Wire[] = []
  const targets = new Set(wires.map((wire) => wire.to))
  const roots = [...ids.filter((id) => !targets.has(id)), ...ids]
  for (const root of roots) {
    if (state.has(root)) continue
    const stack: { id: string; next: number }[] = [{ id: root, next: 0 }]
    state.set(root, 'open')
    while (stack.length) {
      const top = stack[stack.length - 1] as { id: string; next: number }
      const wire = out.get(top.id)?.[top.next]
      top.next += 1
      if (!wire) {
        state.set(top.id, 'done')
        stack.pop()
      } else if (state.get(wire.to) !== 'open') {
        kept.push(wire)
        if (!state.has(wire.to)) {
          state.set(wire.to, 'open')
          stack.push({ id: wire.to, next: 0 })
        }
      }
    }
  }
  return kept
}

/** Nodes by layer: one more than the furthest of those before it. */
export function layersOf(boxes: readonly Box[], wires: readonly Wire[]): string[][] {
  const ids = boxes.map((box) => box.id)
  const edges = forward(ids, wires)
  const before = new Map(ids.map((id) => [id, 0]))
  const out = new Map<string, string[]>()
  for (const { from, to } of edges) {
    before.set(to, (before.get(to) ?? 0) + 1)
    const list = out.get(from)
    if (list) list.push(to)
    else out.set(from, [to])
  }
  const depth = new Map(ids.map((id) => [id, 0]))
  const ready = ids.filter((id) => before.get(id) === 0)
  for (let at = 0; at < ready.length; at += 1) {
    const id = ready[at] as string
    for (const to of out.get(id) ?? []) {
      depth.set(to, Math.max(depth.get(to) ?? 0, (depth.get(id) ?? 0) + 1))
      const left = (before.get(to) ?? 1) - 1
      before.set(to, left)
      if (left === 0) ready.push(to)
    }
  }
  const layers: string[][] = []
  for (const id of ids) (layers[depth.get(id) ?? 0] ??= []).push(id)
  return Array.from(layers, (layer) => layer ?? [])
}

/** Order within layers so that edges cross little: barycentre sweeps, forth and back. */
function order(layers: string[][], wires: readonly Wire[]): string[][] {
  const near = new Map<string, string[]>()
  const link = (a: string, b: string) => {
    const list = near.get(a)
    if (list) list.push(b)
    else near.set(a, [b])
  }
  for (const { from, to } of wires) {
    link(from, to)
    link(to, from)
  }
  const rank = new Map<string, number>()
  const depth = new Map<string, number>()
  layers.forEach((layer, at) =>
    layer.forEach((id, place) => {
      rank.set(id, layer.length > 1 ? place / (layer.length - 1) : 0.5)
      depth.set(id, at)
    }),
  )
  let now = layers
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) {
    const down = sweep % 2 === 0
    now = now.map((layer, at) => {
      const middle = new Map<string, number>()
      for (const id of layer) {
        const sides = (near.get(id) ?? []).filter((other) => down === (depth.get(other) ?? 0) < at)
        const sum = sides.reduce((total, other) => total + (rank.get(other) ?? 0), 0)
        middle.set(id, sides.length ? sum / sides.length : (rank.get(id) ?? 0))
      }
      const sorted = [...layer].sort((a, b) => (middle.get(a) ?? 0) - (middle.get(b) ?? 0))
      sorted.forEach((id, place) => rank.set(id, sorted.length > 1 ? place / (sorted.length - 1) : 0.5))
      return sorted
    })
  }
  return now
}
