/** Runs over time above their list; dragging over it, or the arrow keys and Enter, narrows the filter. */
import { type PointerEvent, useState } from 'react'

import type { Run } from '@/api/types'
import { locale, useT } from '@/i18n'
import { usePrefs } from '@/prefs'
import { formatTime } from '@/time/format'

import { type Slice, slicesOf } from './histogram'

export function TimeBrush({ runs, onRange }: { runs: readonly Run[]; onRange: (from: number, to: number) => void }) {
  const t = useT()
  const { zone } = usePrefs()
  const [range, setRange] = useState<[number, number] | null>(null)
  const [dragging, setDragging] = useState(false)
  const slices = slicesOf(runs)
  if (slices.length === 0) return null
  const most = Math.max(...slices.map((slice) => slice.failed + slice.other))
  const clock = (at: number) => formatTime(at, zone === 'relative' ? 'local' : zone, locale(), Date.now())
  const at = (event: PointerEvent<HTMLDivElement>) => {
    const box = event.currentTarget.getBoundingClientRect()
    return Math.max(0, Math.min(slices.length - 1, Math.floor(((event.clientX - box.left) / box.width) * slices.length)))
  }
  const [low, high] = range ? [Math.min(...range), Math.max(...range)] : [-1, -1]
  const choose = () => {
    if (range) onRange((slices[low] as Slice).from, (slices[high] as Slice).to)
    setRange(null)
    setDragging(false)
  }
  const keys = (key: string) => {
    const end = range?.[1] ?? slices.length - 1
    if (key === 'ArrowLeft') setRange([range?.[0] ?? end, Math.max(0, end - 1)])
    else if (key === 'ArrowRight') setRange([range?.[0] ?? end, Math.min(slices.length - 1, end + 1)])
    else if (key === 'Enter') choose()
    else if (key === 'Escape') setRange(null)
    else return false
    return true
  }
  const said = range ? `${clock((slices[low] as Slice).from)} – ${clock((slices[high] as Slice).to)}` : ''
  return (
    <div className="mt-2 mb-1 hidden md:block">
      <div
        data-brush
        role="slider"
        tabIndex={0}
        aria-label={t('When they began; drag to narrow the filter')}
        aria-valuemin={0}
        aria-valuemax={slices.length - 1}
        aria-valuenow={Math.max(0, high)}
        aria-valuetext={said || `${clock((slices[0] as Slice).from)} – ${clock((slices.at(-1) as Slice).to)}`}
        className="flex h-9 cursor-crosshair touch-none items-end gap-px rounded border border-line bg-panel px-1 pt-1"
        onPointerDown={(event) => {
          event.currentTarget.setPointerCapture(event.pointerId)
          setRange([at(event), at(event)])
          setDragging(true)
        }}
        onPointerMove={(event) => dragging && range && setRange([range[0], at(event)])}
        onPointerUp={choose}
        onKeyDown={(event) => keys(event.key) && event.preventDefault()}
      >
        {slices.map((slice, place) => (
          <span
            key={slice.from}
            title={`${clock(slice.from)}: ${slice.failed + slice.other}`}
            className={`flex h-full flex-1 flex-col justify-end ${place >= low && place <= high ? 'bg-accent-soft' : ''}`}
          >
            <span className="block bg-bad" style={{ height: `${(slice.failed / most) * 100}%` }} />
            <span className="block bg-run" style={{ height: `${(slice.other / most) * 100}%` }} />
          </span>
        ))}
      </div>
      <div className="mt-0.5 flex justify-between text-xs text-soft tabular-nums">
        <span>{clock((slices[0] as Slice).from)}</span>
        <span>{said}</span>
        <span>{clock((slices.at(-1) as Slice).to)}</span>
      </div>
    </div>
  )
}
