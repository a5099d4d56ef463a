/**
 * Idle-gap compression. One map for all lanes, so what happened at one time stays in one column:
 * an interval is cut only where no lane does anything, and a cut keeps a fixed width.
 */

export interface Span {
  from: number
  to: number
}

export interface Cut extends Span {
  /** Where the cut begins and ends in compressed time. */
  at: number
  width: number
}

export interface TimeMap {
  from: number
  to: number
  length: number
  cuts: Cut[]
  toX(time: number): number
  toTime(x: number): number
}

const GAP_MIN_MS = 30_000
const GAP_MEDIANS = 5
const GAP_SHARE = 0.05
const CUT_SHARE = 0.03

/** The intervals where nothing runs, between the first and the last moment. */
export function idleGaps(spans: readonly Span[], from: number, to: number): Span[] {
  const gaps: Span[] = []
  let end = from
  for (const span of inOrder(spans)) {
    if (span.from > end) gaps.push({ from: end, to: Math.min(span.from, to) })
    end = Math.max(end, span.to)
  }
  if (end < to) gaps.push({ from: end, to })
  return gaps.filter((gap) => gap.to > gap.from)
}

/** By their beginnings; a timeline's come so, and sorting tens of thousands again would be felt. */
function inOrder(spans: readonly Span[]): readonly Span[] {
  for (let at = 1; at < spans.length; at += 1) {
    if ((spans[at - 1] as Span).from > (spans[at] as Span).from) return [...spans].sort((a, b) => a.from - b.from)
  }
  return spans
}

/** The gaps worth cutting: long by themselves, among the others, and against the whole. */
export function worthCutting(gaps: readonly Span[], range: number): Span[] {
  const lengths = gaps.map((gap) => gap.to - gap.from).sort((a, b) => a - b)
  const others = lengths.slice(0, -1)
  const median = others[Math.floor(others.length / 2)] ?? 0
  const least = Math.max(GAP_MIN_MS, GAP_MEDIANS * median, GAP_SHARE * range)
  return gaps.filter((gap) => gap.to - gap.from > least)
}

export function timeMap(spans: readonly Span[], from: number, to: number, compress: boolean): TimeMap {
  const range = Math.max(1, to - from)
  const gaps = compress ? worthCutting(idleGaps(spans, from, to), range) : []
  const kept = range - gaps.reduce((sum, gap) => sum + gap.to - gap.from, 0)
  const width = Math.max(1, kept * CUT_SHARE)
  const cuts: Cut[] = []
  let saved = 0
  for (const gap of gaps) {
    cuts.push({ ...gap, at: gap.from - from - saved, width })
    saved += gap.to - gap.from - width
  }
  return {
    ...{ from, to, cuts, length: range - saved },
    toX: (time) => toX(cuts, from, time),
    toTime: (x) => toTime(cuts, from, x),
  }
}

function toX(cuts: readonly Cut[], from: number, time: number): number {
  let saved = 0
  for (const cut of cuts) {
    if (time <= cut.from) break
    if (time < cut.to) return cut.at + ((time - cut.from) / (cut.to - cut.from)) * cut.width
    saved += cut.to - cut.from - cut.width
  }
  return time - from - saved
}

function toTime(cuts: readonly Cut[], from: number, x: number): number {
  let saved = 0
  for (const cut of cuts) {
    if (x <= cut.at) break
    if (x < cut.at + cut.width) return cut.from + ((x - cut.at) / cut.width) * (cut.to - cut.from)
    saved += cut.to - cut.from - cut.width
  }
  return x + from + saved
}

const STEPS_MS = [
  1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 15_000, 30_000, 60_000, 120_000, 300_000,
  600_000, 900_000, 1_800_000, 3_600_000, 7_200_000, 21_600_000, 43_200_000, 86_400_000,
]

/** A round step that puts about `count` ticks on a span. */
export function tickStep(spanMs: number, count: number): number {
  const wanted = spanMs / Math.max(1, count)
  return STEPS_MS.find((step) => step >= wanted) ?? Math.ceil(wanted / 86_400_000) * 86_400_000
}
