/** A state as icon, word and colour: never by colour alone. */
import { memo } from 'react'

import { stateWord, useT } from '@/i18n'

import { Icon, type IconName } from './icons'

export interface Look {
  icon: IconName
  /** The same as a character, where nothing can be drawn: titles of windows and large canvases. */
  sign: string
  text: string
  soft: string
  /** Names of the tokens, for what is drawn by hand. */
  color: string
  fill: string
}

const OK: Look = { icon: 'succeeded', sign: '✓', text: 'text-ok', soft: 'bg-ok-soft', color: '--ok', fill: '--ok-soft' }
const BAD: Look = { icon: 'failed', sign: '✗', text: 'text-bad', soft: 'bg-bad-soft', color: '--bad', fill: '--bad-soft' }
const RUN: Look = { icon: 'running', sign: '▶', text: 'text-run', soft: 'bg-run-soft', color: '--run', fill: '--run-soft' }
const WAIT: Look = { icon: 'waiting', sign: '‖', text: 'text-wait', soft: 'bg-wait-soft', color: '--wait', fill: '--wait-soft' }
const VERIFY: Look = { icon: 'verifying', sign: '◎', text: 'text-verify', soft: 'bg-verify-soft', color: '--verify', fill: '--verify-soft' }
const IDLE: Look = { icon: 'queued', sign: '…', text: 'text-idle', soft: 'bg-idle-soft', color: '--idle', fill: '--idle-soft' }
const HALT: Look = { icon: 'cancelled', sign: '⊘', text: 'text-halt', soft: 'bg-halt-soft', color: '--halt', fill: '--halt-soft' }

const LOOKS: Record<string, Look> = {
  succeeded: OK,
  'succeeded with failures': { ...WAIT, icon: 'warning', sign: '⚠' },
  online: { ...OK, icon: 'online', sign: '●' },
  resolved: OK,
  accepted: { ...OK, icon: 'accepted' },
  active: OK,
  installed: OK,
  closed: OK,
  completed: OK,
  consumed: OK,
  revoked: HALT,
  unknown: { ...WAIT, icon: 'warning', sign: '⚠' },
  deprecated: { ...WAIT, icon: 'warning', sign: '⚠' },
  yanked: { ...BAD, icon: 'cancelled', sign: '⊘' },
  draining: WAIT,
  disabled: HALT,
  registered: IDLE,
  installing: RUN,
  removing: RUN,
  reserved: RUN,
  committed: OK,
  held: WAIT,
  kept: WAIT,
  releasing: RUN,
  building: RUN,
  ready: OK,
  archived: HALT,
  failed: BAD,
  rejected: BAD,
  tripped: BAD,
  'not tripped': OK,
  timed_out: { ...BAD, icon: 'timedOut', sign: '◷' },
  lost: { ...BAD, icon: 'lost', sign: '⚡' },
  offline: { ...IDLE, icon: 'offline', sign: '○' },
  running: RUN,
  claimed: RUN,
  verifying: VERIFY,
  waiting: WAIT,
  open: WAIT,
  late: { ...WAIT, icon: 'warning', sign: '⚠' },
  expired: { ...WAIT, icon: 'timedOut', sign: '◷' },
  cancelling: { ...WAIT, icon: 'cancelled', sign: '⊘' },
  queued: IDLE,
  cancelled: HALT,
  skipped: { ...IDLE, icon: 'skipped', sign: '↷', soft: 'bg-idle-soft hatched' },
  superseded: { ...IDLE, icon: 'superseded', sign: '↻', soft: 'border border-dashed border-edge' },
}

/** Every state there is a look for. */
export const STATES: readonly string[] = Object.keys(LOOKS)

export function lookOf(state: string): Look {
  return LOOKS[state] ?? IDLE
}

export function StatusIcon({ state, size = 16 }: { state: string; size?: number }) {
  const look = lookOf(state)
  return <Icon name={look.icon} size={size} className={`${look.text} ${look.icon === 'running' ? 'turning' : ''}`} />
}

export const Status = memo(function Status({ state, plain = false }: { state: string; plain?: boolean }) {
  const t = useT()
  const look = lookOf(state)
  const frame = plain ? '' : `${look.soft} h-5 rounded px-1.5`
  return (
    <span className={`inline-flex items-center gap-1 whitespace-nowrap text-xs font-medium ${look.text} ${frame}`}>
      <StatusIcon state={state} size={plain ? 14 : 12} />
      {stateWord(t, state)}
    </span>
  )
})
