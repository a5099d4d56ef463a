/** The nodes of a drawing: a card, a branch of an unfolded fan-out, or a box around others. */
import { Handle, type Node, type NodeProps, Position } from '@xyflow/react'
import { memo } from 'react'

import { useT } from '@/i18n'
import { Icon } from '@/parts/icons'
import { Status } from '@/parts/status'

import { borderOf, frameOf, KindIcon, PortRows, SecondLine, Segments, StateBar } from './card'
import { CARD, type Cell, PORT_ROW } from './drawing'

export interface CellData extends Record<string, unknown> {
  cell: Cell
  selected: boolean
  /** Whether edges come from above and leave below. */
  down: boolean
  onSelect?: (task: string) => void
  onToggle?: (path: string) => void
  onRetry?: (task: string) => void
}

type Props = NodeProps<Node<CellData>>

// Nothing to see or to grasp: it only says where edges touch the card.
const HANDLE = '!size-px !min-h-0 !min-w-0 !border-0 !opacity-0'

function Handles({ cell, down }: { cell: Cell; down: boolean }) {
  const ins = down ? Position.Top : Position.Left
  const outs = down ? Position.Bottom : Position.Right
  const top = (at: number) => ({ top: CARD.height + at * PORT_ROW + PORT_ROW / 2 - 3 })
  return (
    <>
      <Handle type="target" position={ins} isConnectable={false} className={HANDLE} />
      <Handle type="source" position={outs} isConnectable={false} className={HANDLE} />
      {cell.ports?.inputs.map((port, at) => (
        <Handle key={port.key} id={`in ${port.key}`} type="target" position={Position.Left} isConnectable={false} className={HANDLE} style={top(at)} />
      ))}
      {cell.ports?.outputs.map((port, at) => (
        <Handle key={port.key} id={`out ${port.key}`} type="source" position={Position.Right} isConnectable={false} className={HANDLE} style={top(at)} />
      ))}
    </>
  )
}

const Card = memo(function Card({ data }: Props) {
  const t = useT()
  const { cell, selected, down, onSelect, onToggle, onRetry } = data
  const inRun = onSelect !== undefined
  return (
    <div
      data-node={cell.id}
      data-state={cell.state}
      className={`relative flex h-full w-full flex-col overflow-clip bg-panel ${frameOf(cell, selected, inRun)}`}
      style={{ borderColor: borderOf(cell) }}
      title={cell.error || cell.detail}
    >
      <Handles cell={cell} down={down} />
      <StateBar state={cell.state} />
      <div className="flex h-[62px] shrink-0 flex-col justify-center gap-0.5 pr-2 pl-3">
        <div className="flex items-center gap-1.5">
          <KindIcon kind={cell.kind} />
          <button
            type="button"
            disabled={!cell.task || !onSelect}
            onClick={() => onSelect?.(cell.task)}
            className="nodrag min-w-0 flex-1 truncate text-left text-sm font-semibold enabled:hover:underline"
          >
            {cell.name}
            {cell.visits > 1 && !cell.folded && <span className="font-normal text-soft"> ×{cell.visits}</span>}
          </button>
          {cell.foldable && (
            <button type="button" aria-label={t('Unfold')} className="nodrag rounded p-0.5 text-soft hover:bg-sunk" onClick={() => onToggle?.(cell.id)}>
              <Icon name="unfold" size={14} />
            </button>
          )}
          {cell.verdict && !(cell.failedTask && onRetry) && (
            <span data-verdict={cell.verdict}>
              <Status state={cell.verdict} />
            </span>
          )}
          {cell.failedTask && onRetry && (
            <button
              type="button"
              className="nodrag inline-flex h-5 items-center gap-1 rounded bg-bad-soft px-1.5 text-xs font-medium text-bad hover:brightness-95"
              onClick={() => onRetry(cell.failedTask)}
            >
              <Icon name="retry" size={12} /> {t('Retry')}
            </button>
          )}
        </div>
        <SecondLine cell={cell} inRun={inRun} />
      </div>
      {cell.ports && <PortRows ports={cell.ports} />}
      <Segments cell={cell} />
    </div>
  )
})

const Branch = memo(function Branch({ data }: Props) {
  const { cell, selected, onSelect } = data
  return (
    <button
      type="button"
      onClick={() => onSelect?.(cell.task)}
      title={cell.error}
      className={`nodrag relative flex h-full w-full items-center justify-between overflow-clip bg-panel pr-2 pl-3 text-xs ${frameOf(cell, selected, true)}`}
      style={{ borderColor: borderOf(cell) }}
    >
      <StateBar state={cell.state} />
      <span className="tabular-nums">{cell.name}</span> <Status state={cell.state} plain />
    </button>
  )
})

const Box = memo(function Box({ data }: Props) {
  const t = useT()
  const { cell, selected, down, onSelect, onToggle } = data
  return (
    <div
      data-node={cell.id}
      data-state={cell.state}
      className={`relative h-full w-full bg-sunk/50 ${frameOf(cell, selected, onSelect !== undefined)}`}
      style={{ borderColor: borderOf(cell) }}
    >
      <Handles cell={cell} down={down} />
      <div className="flex h-8 items-center gap-1.5 px-3 text-xs">
        <KindIcon kind={cell.kind} group />
        <button type="button" disabled={!cell.task || !onSelect} className="nodrag truncate text-sm font-semibold enabled:hover:underline" onClick={() => onSelect?.(cell.task)}>
          {cell.name}
        </button>
        {cell.state && <Status state={cell.state} plain />}
        <span className="text-soft tabular-nums">{cell.folded}</span>
        {cell.foldable && (
          <button type="button" aria-label={t('Fold')} className="nodrag ml-auto rounded p-0.5 text-soft hover:bg-sunk" onClick={() => onToggle?.(cell.id)}>
            <Icon name="fold" size={14} />
          </button>
        )}
      </div>
    </div>
  )
})

export const NODE_TYPES = { card: Card, branch: Branch, box: Box }
