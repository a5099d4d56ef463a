/** Times and spans as people read them; the zone is always part of a time. */

export type Zone = 'local' | 'utc' | 'relative'

const formats = new Map<string, Intl.DateTimeFormat>()

/** The name of the local zone at a time. It stands at the end in every language, so it is asked for apart. */
function zoneName(at: number, locale: string): string {
  const name = `zone ${locale}`
  let found = formats.get(name)
  if (!found) formats.set(name, (found = new Intl.DateTimeFormat(locale, { hour: 'numeric', timeZoneName: 'short' })))
  return found.formatToParts(at).find((part) => part.type === 'timeZoneName')?.value ?? ''
}

function format(zone: Zone, locale: string, withDate: boolean): Intl.DateTimeFormat {
  const name = `${zone} ${locale} ${withDate}`
  let found = formats.get(name)
  if (!found) {
    found = new Intl.DateTimeFormat(locale, {
      ...(withDate ? { month: 'short', day: 'numeric' } : {}),
      hour: '2-digit',
      minute: '2-digit',
      second: '2-digit',
      hour12: false,
      timeZone: zone === 'utc' ? 'UTC' : undefined,
    })
    formats.set(name, found)
  }
  return found
}

export function formatTime(at: number, zone: Zone, locale: string, now: number): string {
  if (zone === 'relative') return formatAgo(at, now, locale)
  const withDate = Math.abs(now - at) > 20 * 3_600_000
  const text = format(zone, locale, withDate).format(at)
  return `${text} ${zone === 'utc' ? 'UTC' : zoneName(at, locale)}`
}

/** The time of day to the millisecond, for what happens many times a second. */
export function formatClock(at: number, zone: Zone, locale: string): string {
  return `${format(zone === 'utc' ? 'utc' : 'local', locale, false).format(at)}.${String(at % 1000).padStart(3, '0')}`
}

export function formatAgo(at: number, now: number, locale: string): string {
  const words = new Intl.RelativeTimeFormat(locale, { numeric: 'auto', style: 'short' })
  const s = Math.round((at - now) / 1000)
  const size = Math.abs(s)
  if (size < 60) return words.format(s, 'second')
  if (size < 3600) return words.format(Math.round(s / 60), 'minute')
  if (size < 86_400) return words.format(Math.round(s / 3600), 'hour')
  return words.format(Math.round(s / 86_400), 'day')
}

/** A span in at most two units: 340ms, 4.2s, 1m 05s, 1h 16m, 3d 4h. */
export function formatSpan(ms: number): string {
  if (ms < 0) return '0ms'
  if (ms < 1000) return `${Math.round(ms)}ms`
  if (ms < 60_000) return `${(ms / 1000).toFixed(ms < 10_000 ? 1 : 0)}s`
  const two = (n: number) => String(n).padStart(2, '0')
  const s = Math.round(ms / 1000)
  if (s < 3600) return `${Math.floor(s / 60)}m ${two(s % 60)}s`
  if (s < 86_400) return `${Math.floor(s / 3600)}h ${two(Math.floor((s % 3600) / 60))}m`
  return `${Math.floor(s / 86_400)}d ${Math.floor((s % 86_400) / 3600)}h`
}

/** Whole seconds in at most two units: 4s, 1m 05s, 1h 16m. */
export function formatSeconds(s: number): string {
  return s < 60 ? `${s}s` : formatSpan(s * 1000)
}

/** The text of a tick on a time axis. */
export function formatTick(at: number, stepMs: number, zone: Zone, locale: string): string {
  return new Intl.DateTimeFormat(locale, {
    hour: '2-digit',
    minute: '2-digit',
    second: stepMs < 60_000 ? '2-digit' : undefined,
    fractionalSecondDigits: stepMs < 1000 ? 3 : undefined,
    hour12: false,
    timeZone: zone === 'utc' ? 'UTC' : undefined,
  }).format(at)
}
