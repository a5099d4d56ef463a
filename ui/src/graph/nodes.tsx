/** How a node looks: a card, a branch of an unfolded fan-out, or a box around others. */
import { Handle, type Node, type NodeProps, Position } from '@xyflow/react'
import { memo } from 'react'

import { useT } from '@/i18n'
import { lookOf, Status } from '@/parts/status'

import type { Cell } from './drawing'

export interface CellData extends Record<string, unknown> {
  cell: Cell
  selected: boolean
  onSelect?: (task: string) => void
  onToggle?: (path: string) => void
  onRetry?: (task: string) => void
}

type Props = NodeProps<Node<CellData>>

const KINDS: Record<string, string> = {
  call: 'ƒ',
  choice: '◇',
  foreach: '≡',
  parallel: '∥',
  subflow: '▣',
  timer: '◷',
  wait: '≋',
  approval: '☑',
  join: '⋈',
  middleware: '⇥',
}

/** Dashed is what a run did not take; a definition by itself has nothing to take. */
function frame({ cell, selected, onSelect }: CellData): string {
  const ring = selected ? 'ring-2 ring-accent' : ''
  const taken = cell.state && cell.state !== 'skipped'
  const border = taken || !onSelect ? '' : 'border-dashed'
  return `rounded-lg border-2 ${border} ${ring}`
}

function edgeColor(cell: Cell): string {
  return cell.state ? `var(${lookOf(cell.state).color})` : 'var(--edge)'
}

function Handles() {
  return (
    <>
      <Handle type="target" position={Position.Left} isConnectable={false} className="!opacity-0" />
      <Handle type="source" position={Position.Right} isConnectable={false} className="!opacity-0" />
    </>
  )
}

const Card = memo(function Card({ data }: Props) {
  const t = useT()
  const { cell, onSelect, onToggle, onRetry } = data
  return (
    <div
      data-node={cell.id}
      data-state={cell.state}
      className={`flex h-full w-full flex-col justify-center overflow-hidden bg-panel px-2 ${frame(data)}`}
      style={{ borderColor: edgeColor(cell) }}
      title={cell.error || cell.detail}
    >
      <Handles />
      <div className="flex items-center gap-1.5">
        <span aria-hidden="true" className="text-soft" title={cell.kind}>
          {cell.start ? '⚑' : ''}
          {KINDS[cell.kind] ?? '•'}
        </span>
        <button
          type="button"
          disabled={!cell.task || !onSelect}
          onClick={() => onSelect?.(cell.task)}
          className="nodrag min-w-0 flex-1 truncate text-left text-sm font-semibold hover:underline"
        >
          {cell.name}
          {cell.visits > 1 && !cell.folded && <span className="font-normal text-soft"> ↺{cell.visits}</span>}
        </button>
        {cell.foldable && (
          <button type="button" aria-label={t('Unfold')} className="nodrag px-1" onClick={() => onToggle?.(cell.id)}>
            ⊞
          </button>
        )}
        {cell.failedTask && onRetry && (
          <button type="button" className="nodrag rounded border border-bad px-1 text-xs text-bad" onClick={() => onRetry(cell.failedTask)}>
            ↻ {t('Retry')}
          </button>
        )}
      </div>
      <div className="flex items-center gap-1.5 overflow-hidden text-xs whitespace-nowrap text-soft">
        {cell.state ? <Status state={cell.state} plain /> : onSelect && <span>○ {t('not reached')}</span>}
        <span className="truncate font-mono">{cell.folded || cell.error || cell.detail}</span>
      </div>
      {cell.note && <div className="truncate font-mono text-xs text-soft">{cell.note}</div>}
    </div>
  )
})

const Branch = memo(function Branch({ data }: Props) {
  const { cell, onSelect } = data
  return (
    <button
      type="button"
      onClick={() => onSelect?.(cell.task)}
      title={cell.error}
      className={`nodrag flex h-full w-full items-center justify-between bg-panel px-2 text-xs ${frame(data)}`}
      style={{ borderColor: edgeColor(cell) }}
    >
      {cell.name} <Status state={cell.state} plain />
    </button>
  )
})

const Box = memo(function Box({ data }: Props) {
  const t = useT()
  const { cell, onSelect, onToggle } = data
  return (
    <div
      data-node={cell.id}
      data-state={cell.state}
      className={`h-full w-full bg-sunk/60 ${frame(data)}`}
      style={{ borderColor: edgeColor(cell) }}
    >
      <Handles />
      <div className="flex items-center gap-2 px-2 pt-1 text-xs">
        <span aria-hidden="true" className="text-soft">
          {KINDS[cell.kind] ?? '▣'}
        </span>
        <button type="button" disabled={!cell.task || !onSelect} className="nodrag font-semibold hover:underline" onClick={() => onSelect?.(cell.task)}>
          {cell.name}
        </button>
        {cell.state && <Status state={cell.state} plain />}
        <span className="font-mono text-soft">{cell.folded}</span>
        {cell.foldable && (
          <button type="button" aria-label={t('Fold')} className="nodrag" onClick={() => onToggle?.(cell.id)}>
            ⊟
          </button>
        )}
      </div>
    </div>
  )
})

export const NODE_TYPES = { card: Card, branch: Branch, box: Box }
