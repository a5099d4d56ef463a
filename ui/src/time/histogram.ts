/** How long things took, counted in steps that grow with the length. */

export interface Step {
  from: number
  to: number
  count: number
}

const EDGES_MS = [0, 100, 300, 1000, 3000, 10_000, 30_000, 60_000, 300_000, 1_800_000, 7_200_000, 86_400_000, Infinity]

/** From the first step with something in it to the last; nothing for nothing. */
export function histogram(lengths: readonly number[]): Step[] {
  const steps = EDGES_MS.slice(0, -1).map((from, at): Step => ({ from, to: EDGES_MS[at + 1] as number, count: 0 }))
  for (const length of lengths) {
    const step = steps.find((one) => length >= one.from && length < one.to)
    if (step) step.count += 1
  }
  const first = steps.findIndex((one) => one.count > 0)
  const last = steps.findLastIndex((one) => one.count > 0)
  return first < 0 ? [] : steps.slice(first, last + 1)
}
