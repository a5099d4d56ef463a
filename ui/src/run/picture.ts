/**
 * What a timeline shows, worked out in steps. A small run's is there at once; between the steps of a
 * large one the page gets its turn, so that typing and scrolling never wait for all of it.
 */
import { useEffect, useMemo, useRef, useState } from 'react'

import type { Names } from '@/graph/names'
import type { RunModel } from '@/live/model'
import { timeMap, type TimeMap } from '@/time/gaps'
import { type Lane, type LaneBy, lanesOf, ROLES, type SpanCache, spansOf, type TimeSpan, warmSpans } from '@/time/spans'

import { type PlacedLane, placeLanes } from './paint'

export interface Ask {
  model: RunModel
  kinds: ReadonlyMap<string, string>
  names: Names
  cache: SpanCache
  by: LaneBy
  /** Lanes of a plan as the page calls them. */
  roles: Readonly<Record<string, string>>
  attempt: number
  from: number
  now: number
  compress: boolean
}

export interface Picture {
  spans: TimeSpan[]
  lanes: PlacedLane[]
  map: TimeMap
  now: number
}

const ROWS_MAX = 12
const LARGE = 2000
const REST_MS = 800

export function* draw(ask: Ask): Generator<undefined, Picture> {
  const { model, kinds, names, cache, by, attempt, now } = ask
  yield* warmSpans(model, kinds, now, by, attempt, cache)
  const spans = spansOf(model, kinds, now, by, attempt, cache)
  yield
  const found = lanesOf(spans, ROWS_MAX)
  const lanes = placeLanes(named(found, by, names, ask.roles))
  yield
  // Waiting counts as idle only between other things: the only thing there is is never cut out.
  const working = spans.filter((span) => span.kind !== 'wait')
  const busy = working.length ? working : spans
  const map = timeMap(busy, ask.from, Math.max(now, ask.from + 1), ask.compress)
  return { spans, lanes, map, now }
}

/** Lanes under the names people know them by; those of a plan always in the same order. */
function named(lanes: Lane[], by: LaneBy, names: Names, roles: Readonly<Record<string, string>>): Lane[] {
  if (by === 'node') return lanes.map((lane) => ({ ...lane, name: names.of(lane.name) }))
  if (by !== 'role') return lanes
  const place = (lane: Lane) => ROLES.findIndex((role) => role === lane.name)
  return [...lanes].sort((a, b) => place(a) - place(b)).map((lane) => ({ ...lane, name: roles[lane.name] ?? lane.name }))
}

export function atOnce(steps: Generator<undefined, Picture>): Picture {
  for (;;) {
    const step = steps.next()
    if (step.done) return step.value
  }
}

/** The picture of what is asked for; of a large run the last one that was finished, null at first. */
export function usePicture(ask: Ask): Picture | null {
  const large = ask.model.tasks.size > LARGE
  const small = useMemo(() => (large ? null : atOnce(draw(ask))), [large, large ? null : ask])
  const [last, setLast] = useState<Picture | null>(null)
  const newest = useRef(ask)
  newest.current = ask
  useEffect(() => {
    if (!large) return
    const stop = { asked: false }
    void keepDrawing(() => newest.current, setLast, stop)
    return () => {
      stop.asked = true
    }
  }, [large])
  return small ?? last
}

async function keepDrawing(ask: () => Ask, show: (picture: Picture) => void, stop: { asked: boolean }): Promise<void> {
  let drawn: Ask | null = null
  while (!stop.asked) {
    const now = ask()
    if (now !== drawn) {
      const steps = draw(now)
      let step = steps.next()
      while (!step.done && !stop.asked) {
        await pause(0)
        step = steps.next()
      }
      drawn = now
      if (step.done && !stop.asked) show(step.value)
      // A change of lanes is shown at once; what only went on can wait a little.
      if (sameQuestion(now, ask())) await pause(REST_MS)
    } else await pause(100)
  }
}

function sameQuestion(a: Ask, b: Ask): boolean {
  return a.by === b.by && a.attempt === b.attempt && a.compress === b.compress
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
