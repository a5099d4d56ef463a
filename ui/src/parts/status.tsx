/** A state as icon, word and colour: never by colour alone. */
import { stateWord, useT } from '@/i18n'

interface Look {
  icon: string
  text: string
  soft: string
  color: string
}

const OK: Look = { icon: '✓', text: 'text-ok', soft: 'bg-ok-soft', color: '--ok' }
const BAD: Look = { icon: '✗', text: 'text-bad', soft: 'bg-bad-soft', color: '--bad' }
const RUN: Look = { icon: '▶', text: 'text-run', soft: 'bg-run-soft', color: '--run' }
const WAIT: Look = { icon: '‖', text: 'text-wait', soft: 'bg-wait-soft', color: '--wait' }
const IDLE: Look = { icon: '○', text: 'text-idle', soft: 'bg-idle-soft', color: '--idle' }

const LOOKS: Record<string, Look> = {
  succeeded: OK,
  'succeeded with failures': { ...WAIT, icon: '⚠' },
  online: { ...OK, icon: '●' },
  resolved: OK,
  active: OK,
  installed: OK,
  deprecated: { ...WAIT, icon: '⚠' },
  yanked: { ...BAD, icon: '⊘' },
  draining: { ...WAIT, icon: '‖' },
  registered: { ...IDLE, icon: '◌' },
  installing: RUN,
  removing: RUN,
  failed: BAD,
  timed_out: { ...BAD, icon: '◷' },
  lost: { ...BAD, icon: '⚡' },
  offline: { ...IDLE, icon: '○' },
  running: RUN,
  claimed: RUN,
  verifying: { ...RUN, icon: '◎' },
  waiting: WAIT,
  open: WAIT,
  late: { ...WAIT, icon: '⚠' },
  expired: { ...WAIT, icon: '◷' },
  cancelling: { ...WAIT, icon: '⊘' },
  queued: { ...IDLE, icon: '…' },
  cancelled: { ...IDLE, icon: '⊘' },
  skipped: { ...IDLE, icon: '↷' },
  superseded: { ...IDLE, icon: '↻' },
}

export function lookOf(state: string): Look {
  return LOOKS[state] ?? IDLE
}

export function Status({ state, plain = false }: { state: string; plain?: boolean }) {
  const t = useT()
  const look = lookOf(state)
  const frame = plain ? '' : `${look.soft} rounded px-1.5 py-0.5`
  return (
    <span className={`inline-flex items-center gap-1 whitespace-nowrap text-xs font-medium ${look.text} ${frame}`}>
      <span aria-hidden="true">{look.icon}</span>
      {stateWord(t, state)}
    </span>
  )
}
