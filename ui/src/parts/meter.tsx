/** How much of something is used: a bar, with the numbers beside it. */

export function Meter({ value, max, reserved = 0, label }: { value: number; max: number | null; reserved?: number; label: string }) {
  const share = (amount: number) => (max ? Math.min(100, (amount / max) * 100) : 0)
  const used = share(value)
  const tone = used + share(reserved) >= 100 ? 'bg-bad' : used + share(reserved) >= 80 ? 'bg-wait' : 'bg-accent-fill'
  return (
    <span role="meter" aria-label={label} aria-valuenow={value} aria-valuemin={0} aria-valuemax={max ?? undefined} className="flex h-1.5 w-full min-w-16 gap-px overflow-clip rounded-full bg-idle-soft">
      <span className={tone} style={{ width: `${used}%` }} />
      <span className={`${tone} opacity-40`} style={{ width: `${Math.min(100 - used, share(reserved))}%` }} />
    </span>
  )
}

/** A square for each place, while there are few enough to count them. */
export function Slots({ used, max }: { used: number; max: number }) {
  return (
    <span aria-hidden="true" className="flex flex-wrap gap-0.5">
      {Array.from({ length: max }, (_, at) => (
        <span key={at} className={`size-2.5 rounded-[2px] ${at < used ? 'bg-run' : 'border border-edge'}`} />
      ))}
    </span>
  )
}
