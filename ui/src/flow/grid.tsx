/** The newest runs of a flow side by side: a column a run, a row a node, how long each took above. */
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useMemo } from 'react'

import { call } from '@/api/client'
import type { Grid, GridRun, GridTask } from '@/api/types'
import { stateWord, useT } from '@/i18n'
import { Skeleton } from '@/parts/basics'
import { Empty, Failed } from '@/parts/feedback'
import { lookOf, StatusIcon } from '@/parts/status'
import { formatSpan } from '@/time/format'

const EVERY_MS = 5000
const BAR_PX = 56

/** The nodes in the order runs came to them; the newest visit stands for a node. */
export function rowsOf(runs: readonly GridRun[]): { node: string; cells: (GridTask | undefined)[] }[] {
  const nodes = new Map<string, (GridTask | undefined)[]>()
  runs.forEach((run, column) => {
    for (const task of run.tasks) {
      let cells = nodes.get(task.node)
      if (!cells) nodes.set(task.node, (cells = new Array<GridTask | undefined>(runs.length).fill(undefined)))
      cells[column] = task
    }
  })
  return [...nodes].map(([node, cells]) => ({ node, cells }))
}

function tookMs(one: { finishedAt: number | null }, from: number): number | null {
  return one.finishedAt === null ? null : one.finishedAt - from
}

export function RunGrid({ flow, nameOf }: { flow: string; nameOf: (node: string) => string }) {
  const t = useT()
  const read = useQuery({
    queryKey: ['grid', flow],
    queryFn: ({ signal }) => call<Grid>(`flows/${encodeURIComponent(flow)}/grid`, { query: { limit: 30 }, signal }),
    refetchInterval: EVERY_MS,
  })
  const runs = read.data?.runs ?? []
  const rows = useMemo(() => rowsOf(runs), [read.data])
  if (read.error && !read.data) return <Failed error={read.error} retry={() => void read.refetch()} />
  if (!read.data) return <Skeleton />
  if (runs.length === 0) return <Empty icon="runs" title={t('No run of this flow yet.')} />
  const most = Math.max(1, ...runs.map((run) => tookMs(run, run.createdAt) ?? 0))
  return (
    <div className="overflow-x-auto p-3" tabIndex={0} role="group" aria-label={t('Grid')}>
      <table className="text-xs">
        <thead>
          <tr className="align-bottom">
            <th className="sticky left-0 bg-panel pr-4 text-left font-medium text-soft">{formatSpan(most)}</th>
            {runs.map((run) => (
              <th key={run.id} scope="col" className="px-px pb-1.5 font-normal">
                <RunBar run={run} most={most} />
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.node} data-grid-row={row.node}>
              <th scope="row" className="sticky left-0 max-w-56 truncate bg-panel py-0.5 pr-4 text-left text-sm font-medium">
                {nameOf(row.node)}
              </th>
              {row.cells.map((task, at) => (
                <td key={runs[at]?.id} className="p-px">
                  {task ? <Cell run={runs[at] as GridRun} task={task} /> : <span className="block size-6" />}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

function RunBar({ run, most }: { run: GridRun; most: number }) {
  const t = useT()
  const took = tookMs(run, run.createdAt)
  const said = `${stateWord(t, run.state)} ${took === null ? '' : formatSpan(took)} ${run.id.slice(-6)}`
  return (
    <Link to="/runs/$id" params={{ id: run.id }} title={said} aria-label={said} className="flex w-6 flex-col items-center justify-end hover:brightness-90" style={{ height: BAR_PX }}>
      <span className="w-3 rounded-t-sm" style={{ height: Math.max(4, ((took ?? most) / most) * BAR_PX), background: `var(${lookOf(run.state).color})`, opacity: took === null ? 0.4 : 1 }} />
    </Link>
  )
}

function Cell({ run, task }: { run: GridRun; task: GridTask }) {
  const t = useT()
  const look = lookOf(task.state)
  const took = tookMs(task, task.startedAt)
  const tries = task.attempts > 1 ? ` · ${t('attempt {n}', { n: task.attempts })}` : ''
  const said = `${stateWord(t, task.state)}${took === null ? '' : ` ${formatSpan(took)}`}${tries}`
  return (
    <Link
      to="/runs/$id"
      params={{ id: run.id }}
      search={{ task: task.id }}
      title={said}
      aria-label={said}
      className={`grid size-6 place-items-center rounded-sm ${look.soft} hover:outline-2 hover:outline-accent`}
    >
      <StatusIcon state={task.state} size={12} />
    </Link>
  )
}
