/** Going through a graph with the arrow keys. */
import type { Spot } from './canvas-draw'

const WAYS: Record<string, [number, number]> = {
  ArrowRight: [1, 0],
  ArrowLeft: [-1, 0],
  ArrowDown: [0, 1],
  ArrowUp: [0, -1],
}

/** The cell an arrow leads to from another: near, and rather straight ahead than to the side. */
export function nextCell(spots: ReadonlyMap<string, Spot>, from: string, key: string): string {
  const start = spots.get(from)
  const way = WAYS[key]
  if (!start || !way) return outermost(spots, key === 'End' ? -1 : 1)
  const [x, y] = middle(start)
  let best = from
  let least = Infinity
  for (const spot of spots.values()) {
    if (spot.id === from) continue
    const [sx, sy] = middle(spot)
    const ahead = (sx - x) * way[0] + (sy - y) * way[1]
    const aside = Math.abs((sx - x) * way[1]) + Math.abs((sy - y) * way[0])
    if (ahead <= 1) continue
    const cost = ahead + 3 * aside
    if (cost < least) {
      least = cost
      best = spot.id
    }
  }
  return best
}

/** The first cell as one reads, or the last. */
function outermost(spots: ReadonlyMap<string, Spot>, sign: 1 | -1): string {
  let best: Spot | undefined
  for (const spot of spots.values()) {
    const before = best ? sign * (spot.absX - best.absX) || sign * (spot.absY - best.absY) : -1
    if (before < 0) best = spot
  }
  return best?.id ?? ''
}

function middle(spot: Spot): [number, number] {
  return [spot.absX + spot.width / 2, spot.absY + spot.height / 2]
}
