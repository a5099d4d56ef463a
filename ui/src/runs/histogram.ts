/** When runs of a list began, counted in slices of equal length, to be brushed. */
import { outcomeOf, type Run } from '@/api/types'

export interface Slice {
  from: number
  to: number
  failed: number
  other: number
}

const SLICES = 48

/** From the first run to the last; nothing where there is no time between them. */
export function slicesOf(runs: readonly Run[]): Slice[] {
  const times = runs.map((run) => run.createdAt)
  const [first, last] = [Math.min(...times), Math.max(...times)]
  if (times.length < 2 || last - first < 1000) return []
  const width = (last - first + 1) / SLICES
  const slices = Array.from({ length: SLICES }, (_, at): Slice => ({ from: Math.floor(first + at * width), to: Math.floor(first + (at + 1) * width), failed: 0, other: 0 }))
  for (const run of runs) {
    const slice = slices[Math.min(SLICES - 1, Math.floor((run.createdAt - first) / width))] as Slice
    if (outcomeOf(run) === 'failed') slice.failed += 1
    else slice.other += 1
  }
  return slices
}

/** A filter that also asks for a time; what it asked for before goes. */
export function withRange(q: string, from: number, to: number): string {
  const rest = q
    .split(/\s+/)
    .filter((word) => word && !/^created:/.test(word))
    .join(' ')
  return `${rest} created:>=${from} created:<=${to}`.trim()
}
