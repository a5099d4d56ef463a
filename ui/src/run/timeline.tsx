/** When everything happened: lanes over one time axis, idle gaps cut out for all lanes at once. */
import { getRouteApi } from '@tanstack/react-router'
import { useEffect, useMemo, useRef, useState } from 'react'

import { hasEnded, type Run } from '@/api/types'
import type { FlowGraph } from '@/graph/definition'
import { locale, stateWord, useT } from '@/i18n'
import type { RunModel } from '@/live/model'
import { Button, Choices, FIELD, Skeleton } from '@/parts/basics'
import { useNow } from '@/parts/clock'
import { Empty } from '@/parts/feedback'
import { usePrefs } from '@/prefs'
import { useKeys } from '@/shell/keys'
import { formatSpan, formatTime } from '@/time/format'
import { timeMap } from '@/time/gaps'
import type { LaneBy, SpanCache, TimeSpan } from '@/time/spans'

import { useNames } from './names'
import { type Hit, paint, type Range } from './paint'
import { type Picture, usePicture } from './picture'

const route = getRouteApi('/runs/$id')
const LABEL = 150
const NOTHING: Picture = { spans: [], lanes: [], map: timeMap([], 0, 1, false), now: 0 }

interface Props {
  graph: FlowGraph
  model: RunModel
  run: Run
  selected?: string
  onSelect: (task: string | undefined) => void
}

export function Timeline({ graph, model, run, selected, onSelect }: Props) {
  const t = useT()
  const current = useNow()
  const { zone, theme } = usePrefs()
  const search = route.useSearch()
  const navigate = route.useNavigate()
  const plan = run.dialect === 'plan'
  const by = (['node', 'worker', 'kind', 'role'].find((one) => one === search.lanes) ?? (plan ? 'role' : 'node')) as LaneBy
  const roles = useMemo(() => ({ plan: t('Plan'), work: t('Work'), verify: t('Verify'), people: t('People') }), [t])
  const attempt = search.attempt ?? 0
  const [compress, setCompress] = useState(true)
  const [range, setRange] = useState<Range | null>(null)
  const [hover, setHover] = useState<{ span: TimeSpan; x: number; y: number } | null>(null)
  const names = useNames()
  const newest = hasEnded(run.state) ? (run.finishedAt ?? run.updatedAt) : Math.max(current, run.updatedAt)
  const kinds = useMemo(() => new Map(graph.nodes.map((node) => [node.path, node.kind])), [graph])
  const cache = useMemo<SpanCache>(() => new WeakMap(), [kinds, by, attempt])
  const ask = useMemo(
    () => ({ model, kinds, names, cache, by, roles, attempt, from: run.createdAt, now: newest, compress }),
    [model, kinds, names, cache, by, roles, attempt, run.createdAt, newest, compress],
  )
  const picture = usePicture(ask)
  const { spans, lanes, map, now } = picture ?? NOTHING
  const shown: Range = range ?? { from: 0, to: map.length }
  const box = useRef<HTMLDivElement>(null)
  const canvas = useRef<HTMLCanvasElement>(null)
  const hits = useRef<Hit[]>([])
  const brush = useRef<{ from: number; to: number } | null>(null)
  const [turn, redraw] = useState(0)
  const height = (lanes.at(-1)?.bottom ?? 0) + 12
  useKeys({ c: () => setCompress(!compress), f: () => setRange(null) })
  useEffect(() => {
    const frame = requestAnimationFrame(() => {
      if (!canvas.current || !box.current) return
      const scroll = box.current.scrollTop
      hits.current = paint(canvas.current, { lanes, map, shown, scroll, selected, brush: brush.current, zone })
    })
    return () => cancelAnimationFrame(frame)
    // News comes every frame; it is drawn only when there is something else to see.
  }, [lanes, map, shown.from, shown.to, selected, zone, theme, turn])
  useEffect(() => {
    if (!box.current) return
    const watch = new ResizeObserver(() => redraw((n) => n + 1))
    watch.observe(box.current)
    return () => watch.disconnect()
  }, [spans.length === 0])
  const width = () => (canvas.current?.clientWidth ?? 600) - LABEL
  const toX = (px: number) => shown.from + ((px - LABEL) / width()) * (shown.to - shown.from)
  const find = (x: number, y: number) => hits.current.findLast((hit) => x >= hit.x - 2 && x <= hit.x + hit.w + 2 && y >= hit.y && y <= hit.y + hit.h)
  const zoomAt = (px: number, factor: number) => {
    const at = toX(px)
    const from = Math.max(0, at - (at - shown.from) * factor)
    setRange({ from, to: Math.min(map.length, Math.max(from + 1, at + (shown.to - at) * factor)) })
  }
  let attemptsMax = 1
  for (const row of model.attempts.values()) attemptsMax = Math.max(attemptsMax, row.number)
  if (!picture) return <Skeleton rows={8} />
  if (spans.length === 0) return <Empty title={t('Nothing has happened yet.')} command={`windlass why ${run.id}`} />
  return (
    <>
      <div className="flex flex-wrap items-center gap-2 border-b border-line p-2 text-sm">
        <Choices
          label={t('Lanes')}
          value={by}
          choices={[
            ...(plan ? [{ id: 'role' as const, text: t('Role') }] : []),
            { id: 'node', text: t('Task') },
            { id: 'worker', text: t('Worker') },
            { id: 'kind', text: t('Kind') },
          ]}
          onChange={(lanesBy) => void navigate({ search: (old) => ({ ...old, lanes: lanesBy }), replace: true })}
        />
        <select
          aria-label={t('Attempts')}
          className={`${FIELD} w-36`}
          value={attempt}
          onChange={(event) => void navigate({ search: (old) => ({ ...old, attempt: Number(event.target.value) || undefined }), replace: true })}
        >
          <option value={0}>{t('All attempts')}</option>
          <option value={-1}>{t('Newest only')}</option>
          {Array.from({ length: Math.min(attemptsMax, 20) }, (_, at) => (
            <option key={at} value={at + 1}>
              #{at + 1}
            </option>
          ))}
        </select>
        <Button icon="clock" aria-pressed={compress} onClick={() => setCompress(!compress)}>
          {compress ? t('Gaps cut: {n}', { n: map.cuts.length }) : t('Gaps shown')}
        </Button>
        {range && <Button onClick={() => setRange(null)}>{t('Whole run')}</Button>}
        <span className="ml-auto flex flex-wrap items-center gap-3 text-xs text-soft">
          <Key look="h-px w-4 bg-idle" text={t('queued')} />
          <Key look="h-3 w-4 rounded-sm border-l-[3px] border-run bg-run-soft" text={t('running')} />
          <Key look="h-3 w-4 rounded-sm border border-wait bg-wait-soft" text={t('waiting')} />
          <Key look="w-4 border-t border-dotted border-wait" text={t('before a retry')} />
        </span>
      </div>
      <div ref={box} style={{ height }} className="relative min-h-40 shrink overflow-y-auto" onScroll={() => redraw((n) => n + 1)}>
        <canvas
          ref={canvas}
          role="img"
          aria-label={t('Timeline of {n} spans; the list has them all', { n: spans.length })}
          className="sticky top-0 left-0 block h-full w-full"
          onWheel={(event) => {
            if (event.ctrlKey || event.metaKey) zoomAt(event.nativeEvent.offsetX, event.deltaY < 0 ? 0.8 : 1.25)
          }}
          onDoubleClick={() => setRange(null)}
          onPointerDown={(event) => {
            brush.current = { from: event.nativeEvent.offsetX, to: event.nativeEvent.offsetX }
            setHover(null)
          }}
          onPointerMove={(event) => {
            const { offsetX: x, offsetY: y } = event.nativeEvent
            if (brush.current) {
              brush.current.to = x
              redraw((n) => n + 1)
              return
            }
            const hit = find(x, y)
            setHover(hit ? { span: hit.span, x, y } : null)
          }}
          onPointerUp={(event) => {
            const done = brush.current
            brush.current = null
            if (!done) return
            if (Math.abs(done.to - done.from) > 6) {
              const [a, b] = [toX(Math.min(done.from, done.to)), toX(Math.max(done.from, done.to))]
              setRange({ from: Math.max(0, a), to: Math.min(map.length, b) })
              return
            }
            const hit = find(event.nativeEvent.offsetX, event.nativeEvent.offsetY)
            if (hit) onSelect(hit.span.task)
          }}
          onPointerLeave={() => setHover(null)}
        />
        <div style={{ height: Math.max(0, height - (box.current?.clientHeight ?? 0)) }} />
        {hover && (
          <div
            className="pointer-events-none absolute z-10 rounded border border-line bg-raised px-2 py-1 text-xs shadow-float"
            style={{ left: Math.min(hover.x + 12, width() - 60), top: hover.y + 14 + (box.current?.scrollTop ?? 0) }}
          >
            <b>{names.of(hover.span.node)}</b> {hover.span.attempt > 0 && `#${hover.span.attempt} `}
            {stateWord(t, hover.span.kind === 'run' ? hover.span.state : hover.span.kind === 'queue' ? 'queued' : 'waiting')}
            <br />
            {formatTime(hover.span.from, zone === 'relative' ? 'local' : zone, locale(), now)} · {formatSpan(hover.span.to - hover.span.from)}
            {hover.span.worker && ` · ${hover.span.worker}`}
          </div>
        )}
      </div>
    </>
  )
}

function Key({ look, text }: { look: string; text: string }) {
  return (
    <span className="inline-flex items-center gap-1.5">
      <span aria-hidden="true" className={look} />
      {text}
    </span>
  )
}
