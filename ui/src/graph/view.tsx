/** A graph on the page: DOM for what people can read, Canvas above what a browser carries well. */
import '@xyflow/react/dist/style.css'

import { Background, Controls, MarkerType, MiniMap, type Node, ReactFlow, ReactFlowProvider, useReactFlow } from '@xyflow/react'
import { useEffect, useMemo, useRef } from 'react'

import { useT } from '@/i18n'
import { Skeleton } from '@/parts/basics'
import { Empty } from '@/parts/feedback'
import { lookOf } from '@/parts/status'
import { useKeys } from '@/shell/keys'

import { CanvasGraph } from './canvas'
import { absolute, reveal } from './canvas-draw'
import type { Cell, Drawing } from './drawing'
import { EDGE_TYPES, type RoutedEdge } from './edges'
import { type Layout, type Placed, wireKey } from './layout'
import { NODE_TYPES, type CellData } from './nodes'
import { useLayout } from './useLayout'

const DOM_MAX = 1500

export interface GraphViewProps {
  drawing: Drawing
  selected?: string
  onSelect?: (task: string) => void
  onToggle?: (path: string) => void
  onRetry?: (task: string) => void
}

export function GraphView(props: GraphViewProps) {
  const t = useT()
  const { drawing } = props
  // Ports are at the sides of cards, and a large graph is moved by hand: both stay as they are read.
  const turns = drawing.boxes.length <= DOM_MAX && drawing.ends.every(([from, to]) => !from && !to)
  const room = turns ? (innerWidth < 768 ? 360 : 1100) : Infinity
  const layout = useLayout(drawing.boxes, drawing.wires, drawing.key, room)
  if (drawing.boxes.length === 0) return <Empty title={t('The definition has no nodes to draw.')} />
  if (!layout) return <Skeleton rows={6} />
  if (drawing.boxes.length > DOM_MAX) return <CanvasGraph {...props} layout={layout} />
  return (
    <ReactFlowProvider>
      <Flow {...props} layout={layout} />
    </ReactFlowProvider>
  )
}

function Flow({ drawing, layout, selected, onSelect, onToggle, onRetry }: GraphViewProps & { layout: Layout }) {
  const t = useT()
  const flow = useReactFlow()
  const first = useRef(true)
  const box = useRef<HTMLDivElement>(null)
  useKeys({ f: () => void flow.fitView({ padding: 0.1 }) })
  const nodes = useMemo(
    () => nodesOf(drawing, layout, selected, { onSelect, onToggle, onRetry }),
    // Handlers are new at every render but do the same, as long as retrying is allowed or not.
    [drawing, layout, selected, !onRetry],
  )
  const edges = useMemo(() => edgesOf(drawing, layout), [drawing, layout])
  useEffect(() => {
    // Once only: afterwards the viewport belongs to whoever looks at it.
    if (first.current) showStart(flow, layout, box.current)
    first.current = false
  }, [flow, layout])
  useEffect(() => {
    // A task that somebody picked is brought into view once its details have taken their room; nothing else moves it.
    const frame = requestAnimationFrame(() => showChosen(flow, layout, nodes.find((node) => node.data.selected)?.id, box.current))
    return () => cancelAnimationFrame(frame)
    // Only picking counts: cards are drawn anew at every event.
  }, [flow, layout, selected])
  return (
    <div ref={box} className="relative min-h-96 w-full flex-1" data-graph={drawing.boxes.length}>
      <ReactFlow
        className="!absolute inset-0"
        nodes={nodes}
        edges={edges}
        nodeTypes={NODE_TYPES}
        edgeTypes={EDGE_TYPES}
        nodesDraggable={false}
        nodesConnectable={false}
        nodesFocusable={false}
        edgesFocusable={false}
        elementsSelectable={false}
        onNodeClick={(event, node) => {
          // The card's own buttons speak for themselves.
          if (event.target instanceof Element && event.target.closest('button')) return
          const { task } = node.data.cell
          if (task) onSelect?.(task)
        }}
        minZoom={0.05}
        aria-label={t('Graph')}
        proOptions={{ hideAttribution: true }}
      >
        <Background gap={20} size={1} color="var(--edge)" className="opacity-40" />
        <Controls showInteractive={false} aria-label={t('Zoom')} />
        {drawing.boxes.length > 12 && (
          <MiniMap pannable ariaLabel={t('Map')} nodeColor={(node) => `var(${lookOf((node.data as { cell: Cell }).cell.state).color})`} className="hidden md:block" />
        )}
      </ReactFlow>
    </div>
  )
}

/** Below this nobody reads a card; a graph that does not fit is shown from its start instead. */
const ZOOM_MIN = 0.75
const ROOM = 32

function showStart(flow: ReturnType<typeof useReactFlow>, layout: Layout, box: HTMLElement | null): void {
  const width = box?.clientWidth ?? 0
  const height = box?.clientHeight ?? 0
  const fit = Math.min(1, (width - 2 * ROOM) / layout.width, (height - 2 * ROOM) / layout.height)
  const zoom = Math.max(ZOOM_MIN, fit)
  const at = (room: number, size: number) => (size * zoom + 2 * ROOM <= room ? (room - size * zoom) / 2 : ROOM)
  // Where it goes on beyond the edge, its first layer is in the middle of the other direction.
  const middle = (room: number, size: number) => (room - size * zoom) / 2
  const over = { x: layout.width * zoom + 2 * ROOM > width, y: layout.height * zoom + 2 * ROOM > height }
  const x = layout.down && over.x ? middle(width, layout.width) : at(width, layout.width)
  const y = !layout.down && over.y ? middle(height, layout.height) : at(height, layout.height)
  void flow.setViewport({ x, y, zoom })
}

function showChosen(flow: ReturnType<typeof useReactFlow>, layout: Layout, id: string | undefined, box: HTMLElement | null): void {
  const spot = absolute(layout).get(id ?? '')
  if (spot && box) void flow.setViewport(reveal(flow.getViewport(), spot, box.clientWidth, box.clientHeight))
}

type Handlers = Pick<GraphViewProps, 'onSelect' | 'onToggle' | 'onRetry'>

function nodesOf(drawing: Drawing, layout: Layout, selected: string | undefined, handlers: Handlers): Node<CellData>[] {
  const nodes: Node<CellData>[] = []
  for (const place of inReadingOrder(layout.placed)) {
    const cell = drawing.cells.get(place.id)
    if (!cell) continue
    const isSelected = selected !== undefined && (cell.task === selected || cell.failedTask === selected)
    nodes.push({
      id: place.id,
      type: cell.group ? 'box' : cell.kind === 'branch' ? 'branch' : 'card',
      position: { x: place.x, y: place.y },
      width: place.width,
      height: place.height,
      parentId: place.parent || undefined,
      data: { cell, selected: isSelected, down: layout.down && !place.parent, ...handlers },
    })
  }
  return nodes
}

/** From left to right, then down, a box before what lies in it: the order Tab goes. */
export function inReadingOrder(placed: readonly Placed[]): Placed[] {
  const inside = new Map<string, Placed[]>()
  for (const place of [...placed].sort((a, b) => a.x - b.x || a.y - b.y)) {
    const others = inside.get(place.parent)
    if (others) others.push(place)
    else inside.set(place.parent, [place])
  }
  const from = (parent: string): Placed[] => (inside.get(parent) ?? []).flatMap((place) => [place, ...from(place.id)])
  return from('')
}

function reached(cell: Cell | undefined): boolean {
  return !!cell?.state && cell.state !== 'skipped'
}

function edgesOf(drawing: Drawing, layout: Layout): RoutedEdge[] {
  const inside = new Map(layout.placed.map((place) => [place.id, place.parent]))
  return drawing.wires.map((wire, at) => {
    const target = drawing.cells.get(wire.to)
    const taken = reached(target) && reached(drawing.cells.get(wire.from))
    const skipped = target?.state === 'skipped'
    const moving = target?.state === 'running'
    const [fromPort = '', toPort = ''] = drawing.ends[at] ?? []
    const has = (id: string, side: 'inputs' | 'outputs', key: string) => drawing.cells.get(id)?.ports?.[side].some((port) => port.key === key)
    const color = moving ? 'var(--run)' : taken ? 'var(--soft)' : 'var(--edge)'
    return {
      id: `${at}`,
      type: 'routed',
      data: { points: layout.bends[wireKey(wire)] ?? [], hint: drawing.hints[at] ?? '', down: layout.down && inside.get(wire.from) === '', moving },
      source: wire.from,
      target: wire.to,
      sourceHandle: has(wire.from, 'outputs', fromPort) ? `out ${fromPort}` : undefined,
      targetHandle: has(wire.to, 'inputs', toPort) ? `in ${toPort}` : undefined,
      ariaLabel: `${drawing.cells.get(wire.from)?.name} → ${drawing.cells.get(wire.to)?.name}`,
      label: drawing.labels[at],
      style: { stroke: color, strokeWidth: taken ? 1.5 : 1, strokeDasharray: skipped ? '3 3' : undefined },
      markerEnd: { type: MarkerType.ArrowClosed, color, width: 14, height: 14 },
    }
  })
}
