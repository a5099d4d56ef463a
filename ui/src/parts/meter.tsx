/** How much of something is used: a bar, with the numbers beside it. */

interface MeterProps {
  value: number
  max: number | null
  reserved?: number
  label: string
  /** It is a part of something, and nothing is wrong with all of it. */
  part?: boolean
}

export function Meter({ value, max, reserved = 0, label, part = false }: MeterProps) {
  const share = (amount: number) => (max ? Math.min(100, (amount / max) * 100) : 0)
  const used = share(value)
  const all = part ? 0 : used + share(reserved)
  const tone = all >= 100 ? 'bg-bad' : all >= 80 ? 'bg-wait' : 'bg-accent-fill'
  return (
    <span role="meter" aria-label={label} aria-valuenow={value} aria-valuemin={0} aria-valuemax={max ?? undefined} className="flex h-1.5 w-full min-w-16 gap-px overflow-clip rounded-full bg-idle-soft">
      <span className={tone} style={{ width: `${used}%` }} />
      <span className={`${tone} opacity-40`} style={{ width: `${Math.min(100 - used, share(reserved))}%` }} />
    </span>
  )
}

interface SlotsProps {
  used: number
  max: number
  /** How many of those used are only held: nobody works in them. */
  held?: number
  /** How many wait for one: the tail of the queue. */
  waiting?: number
}

const TAIL_MAX = 8
const ROW_MAX = 12

/** A square for each place, while there are few enough to count them: in use, held, free; and a dot for each that waits. */
export function Slots({ used, max, held = 0, waiting = 0 }: SlotsProps) {
  const look = (at: number) => (at < used - held ? 'bg-run' : at < used ? 'bg-wait' : 'border border-edge')
  return (
    <span aria-hidden="true" className="flex flex-wrap items-center gap-0.5" style={{ minWidth: `${0.75 * Math.min(max, ROW_MAX) + (waiting > 0 ? 0.5 * Math.min(waiting, TAIL_MAX) + 0.5 : 0)}rem` }}>
      {Array.from({ length: max }, (_, at) => (
        <span key={at} className={`size-2.5 rounded-[2px] ${look(at)}`} />
      ))}
      {Array.from({ length: Math.min(waiting, TAIL_MAX) }, (_, at) => (
        <span key={`w${at}`} className={`size-1.5 rounded-full bg-wait ${at === 0 ? 'ml-1.5' : ''}`} />
      ))}
    </span>
  )
}
