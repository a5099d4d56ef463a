/** The face of a node: kind, name, how it stands. The same for runs, definitions and whatever edits them. */
import { useT } from '@/i18n'
import { Span } from '@/parts/clock'
import { Icon, type IconName } from '@/parts/icons'
import { lookOf, Status } from '@/parts/status'

import type { PortMark, Ports } from './definition'
import type { Cell } from './drawing'

const KINDS: Record<string, IconName> = {
  call: 'call',
  choice: 'choice',
  foreach: 'foreach',
  parallel: 'parallel',
  subflow: 'subflow',
  timer: 'timer',
  wait: 'wait',
  approval: 'approval',
  join: 'join',
  middleware: 'middleware',
  plan: 'planner',
}

export function KindIcon({ kind, group = false }: { kind: string; group?: boolean }) {
  return <Icon name={KINDS[kind] ?? (group ? 'subflow' : 'call')} size={14} className="text-soft" />
}

/** Dashed is what a run did not take; a definition by itself has nothing to take. */
export function frameOf(cell: Cell, selected: boolean, inRun: boolean): string {
  const ring = selected ? 'outline-2 outline-accent outline-offset-1' : ''
  const taken = cell.state && cell.state !== 'skipped'
  const border = taken || !inRun ? '' : 'border-dashed'
  return `rounded-lg border ${border} ${ring} ${cell.state === 'skipped' ? 'hatched' : ''} ${cell.state === 'superseded' ? 'opacity-60' : ''}`
}

/** What is underway or wrong wears its colour all around; the rest a quiet border that is still seen. */
export function borderOf(cell: Cell): string {
  const loud = ['running', 'failed', 'waiting', 'verifying'].includes(cell.state)
  return loud ? `var(${lookOf(cell.state).color})` : 'var(--edge)'
}

/** 3 px of the state's colour at the left. */
export function StateBar({ state }: { state: string }) {
  if (!state) return null
  return <span aria-hidden="true" className="absolute inset-y-0 left-0 w-[3px]" style={{ background: `var(${lookOf(state).color})` }} />
}

/** The second line: status · duration · attempt; the fan-out's counts, the error or what it calls. */
export function SecondLine({ cell, inRun }: { cell: Cell; inRun: boolean }) {
  const t = useT()
  // What went wrong has no room beside the number of the attempt; the task and the banner have it.
  const more = cell.folded || (cell.attempts > 1 ? '' : cell.error) || (cell.state ? '' : cell.detail)
  return (
    <div className="flex items-center gap-1.5 overflow-hidden text-xs whitespace-nowrap text-soft">
      {cell.state ? <Status state={cell.state} plain /> : inRun && <span>{t('not reached')}</span>}
      {cell.state && cell.from && !cell.folded && (
        <>
          · <Span from={cell.from} to={cell.to} />
        </>
      )}
      {cell.attempts > 1 && <span title={t('attempt {n}', { n: cell.attempts })}>· #{cell.attempts}</span>}
      {cell.note && (
        <span className={`truncate font-mono text-[10px] ${cell.state ? 'ml-auto' : ''}`} title={cell.note}>
          {cell.note}
        </span>
      )}
      {more && !cell.note && <span className={`truncate ${cell.folded ? 'tabular-nums' : 'font-mono text-[11px]'}`}>{more}</span>}
    </div>
  )
}

const SEGMENTS = ['succeeded', 'failed', 'running', 'waiting', 'verifying', 'cancelled'] as const

/** How far a fan-out is: a segment for each state of its branches. */
export function Segments({ cell }: { cell: Cell }) {
  if (!cell.branches || !cell.total) return null
  const { branches, total } = cell
  return (
    <span aria-hidden="true" className="absolute inset-x-0 bottom-0 flex h-[3px] gap-px bg-idle-soft">
      {SEGMENTS.filter((state) => branches[state]).map((state) => (
        <span key={state} style={{ width: `${((branches[state] ?? 0) / total) * 100}%`, background: `var(${lookOf(state).color})` }} />
      ))}
    </span>
  )
}

const TYPES: Record<string, string> = {
  string: 'var(--ok)',
  number: 'var(--run)',
  integer: 'var(--run)',
  boolean: 'var(--verify)',
  object: 'var(--wait)',
  array: 'var(--accent)',
}

/** The ports by name, inputs at the left and outputs at the right, a dot for what goes through each. */
export function PortRows({ ports }: { ports: Ports }) {
  const rows = Math.max(ports.inputs.length, ports.outputs.length)
  if (rows === 0) return null
  return (
    <div className="pb-1.5 text-[11px] leading-[18px] text-soft">
      {Array.from({ length: rows }, (_, at) => (
        <div key={at} className="flex h-[18px] justify-between gap-3 px-2">
          <PortName port={ports.inputs[at]} />
          <PortName port={ports.outputs[at]} out />
        </div>
      ))}
    </div>
  )
}

function PortName({ port, out = false }: { port?: PortMark; out?: boolean }) {
  if (!port) return <span />
  return (
    <span data-port-mark={port.key} title={port.type} className={`flex min-w-0 items-center gap-1 ${out ? 'flex-row-reverse' : ''}`}>
      <span aria-hidden="true" className="size-1.5 shrink-0 rounded-full" style={{ background: TYPES[port.type] ?? 'var(--edge)' }} />
      <span className="truncate">{port.name}</span>
    </span>
  )
}
