/** An edge that passes beside the nodes on its way. */
import { BaseEdge, type Edge, type EdgeProps } from '@xyflow/react'

export type RoutedEdge = Edge<{ points: [number, number][]; hint: string; down: boolean; moving: boolean }>

/** A smooth line through points, level at each of them; upright where the graph goes down. */
export function smooth(points: readonly [number, number][], down = false): string {
  let path = ''
  points.forEach(([x, y], at) => {
    const before = points[at - 1]
    if (!before) path = `M${x},${y}`
    else if (down) {
      const bend = Math.max(16, Math.abs(y - before[1]) / 2)
      path += ` C${before[0]},${before[1] + bend} ${x},${y - bend} ${x},${y}`
    } else {
      const bend = Math.max(20, Math.abs(x - before[0]) / 2)
      path += ` C${before[0] + bend},${before[1]} ${x - bend},${y} ${x},${y}`
    }
  })
  return path
}

function Routed({ sourceX, sourceY, targetX, targetY, data, ...rest }: EdgeProps<RoutedEdge>) {
  const points: [number, number][] = [[sourceX, sourceY], ...(data?.points ?? []), [targetX, targetY]]
  const [x, y] = points[1] as [number, number]
  return (
    <BaseEdge
      id={rest.id}
      className={data?.moving ? 'edge-moving' : undefined}
      path={smooth(points, data?.down)}
      style={rest.style}
      markerEnd={rest.markerEnd}
      label={
        data?.hint ? (
          <>
            <title>{data.hint}</title>
            {rest.label}
          </>
        ) : (
          rest.label
        )
      }
      labelX={(sourceX + x) / 2}
      labelY={(sourceY + y) / 2}
      labelBgPadding={[4, 2]}
      labelBgBorderRadius={3}
    />
  )
}

export const EDGE_TYPES = { routed: Routed }
