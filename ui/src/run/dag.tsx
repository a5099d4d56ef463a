/** The graph of a run: drawn from the definition, with the state of its tasks over it. */
import { getRouteApi } from '@tanstack/react-router'
import { useMemo } from 'react'

import { retryRun, useAct } from '@/api/actions'
import { hasEnded, type Run } from '@/api/types'
import type { FlowGraph } from '@/graph/definition'
import { type Drawing, drawingOf } from '@/graph/drawing'
import { GraphView } from '@/graph/view'
import { useT } from '@/i18n'
import type { RunModel } from '@/live/model'
import { useCanAct } from '@/shell/health'

import { type Progress, progressText, useProgress } from './progress'

const route = getRouteApi('/runs/$id')

interface Props {
  graph: FlowGraph
  model: RunModel
  run: Run
  selected?: string
  onSelect: (task: string | undefined) => void
}

/** The drawing with what running tasks say of themselves on their cards. */
function withProgress(drawing: Drawing, progress: ReadonlyMap<string, Progress>): Drawing {
  if (progress.size === 0) return drawing
  const cells = new Map(drawing.cells)
  for (const cell of drawing.cells.values()) {
    const said = progress.get(cell.task)
    if (said && progressText(said)) cells.set(cell.id, { ...cell, detail: progressText(said) })
  }
  return { ...drawing, cells }
}

export function Dag({ graph, model, run, selected, onSelect }: Props) {
  const t = useT()
  const act = useAct()
  const canAct = useCanAct()
  const search = route.useSearch()
  const navigate = route.useNavigate()
  const open = useMemo(() => new Set((search.open ?? '').split(',').filter(Boolean)), [search.open])
  const progress = useProgress(run, model.tasks.size)
  const plain = useMemo(() => drawingOf(graph, model, open), [graph, model, open])
  const drawing = useMemo(() => withProgress(plain, progress), [plain, progress])
  const toggle = (path: string) => {
    const next = new Set(open)
    if (!next.delete(path)) next.add(path)
    void navigate({ search: (old) => ({ ...old, open: [...next].join(',') || undefined }), replace: true })
  }
  const retry = (task: string) => void act(retryRun(run.id, task), t('Retry started'), 'run', 'why')
  return (
    <GraphView
      drawing={drawing}
      selected={selected}
      onSelect={onSelect}
      onToggle={toggle}
      onRetry={canAct && hasEnded(run.state) ? retry : undefined}
    />
  )
}
