/** The blackboard of a plan: its keys by who they are about, a value, and what stood there before. */
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { useState } from 'react'

import { boardQuery, boardRevisionsQuery, useReadAgain } from '@/api/ledger'
import type { BoardEntry, Run } from '@/api/types'
import { useT } from '@/i18n'
import { Button, Chip, Skeleton } from '@/parts/basics'
import { Time } from '@/parts/clock'
import { ValueDiff } from '@/parts/code'
import { Empty, Failed } from '@/parts/feedback'
import { Json } from '@/parts/json'
import { useNames } from '@/run/names'

import { firstKey, type KeyNode, treeOf } from './keys'

export function BoardView({ run, seq }: { run: Run; seq: number }) {
  const t = useT()
  const [picked, setPicked] = useState('')
  const read = useInfiniteQuery(boardQuery(run.id))
  useReadAgain(run.id, seq, 'board')
  if (read.error && !read.data) return <Failed error={read.error} retry={() => void read.refetch()} />
  if (!read.data) return <Skeleton rows={6} />
  const entries = read.data.pages.flatMap((page) => page.items)
  if (entries.length === 0) return <Empty icon="data" title={t('Nothing stands on the blackboard yet.')} command={`windlass plan board ${run.id}`} />
  const tree = treeOf(entries)
  const chosen = picked || firstKey(tree)
  return (
    <div className="flex min-h-0 flex-1 flex-col md:flex-row">
      <nav aria-label={t('Entries')} tabIndex={0} className="shrink-0 overflow-auto border-line p-2 max-md:max-h-52 max-md:border-b md:w-72 md:border-r">
        {tree.map((top) => (
          <Top key={top.name} top={top} chosen={chosen} onChoose={setPicked} />
        ))}
        {read.hasNextPage && (
          <Button disabled={read.isFetchingNextPage} onClick={() => void read.fetchNextPage()}>
            {t('Show more')}
          </Button>
        )}
      </nav>
      <div className="min-h-0 min-w-0 flex-1 overflow-auto p-3" tabIndex={0} role="region" aria-label={t('Value')}>
        <Entry key={chosen} run={run} name={chosen} />
      </div>
    </div>
  )
}

interface BranchProps {
  chosen: string
  onChoose: (key: string) => void
}

function Top({ top, ...rest }: BranchProps & { top: KeyNode }) {
  const t = useT()
  const names = useNames()
  return (
    <section className="mb-2">
      <h2 className="px-2 py-1 text-xs font-medium text-soft wrap-anywhere">{top.task ? names.ofTask(top.task) : t('Whole run')}</h2>
      <Branch nodes={top.below} {...rest} />
    </section>
  )
}

function Branch({ nodes, chosen, onChoose }: BranchProps & { nodes: readonly KeyNode[] }) {
  const t = useT()
  return (
    <ul className="ml-2 border-l border-line pl-1">
      {nodes.map((node) => (
        <li key={node.name}>
          {node.entry ? (
            <button
              type="button"
              data-key={node.entry.key}
              title={node.entry.key}
              aria-pressed={node.entry.key === chosen}
              onClick={() => onChoose(node.entry?.key ?? '')}
              className={`flex min-h-7 w-full items-center gap-2 rounded px-2 text-left font-mono text-xs transition-colors ${
                node.entry.key === chosen ? 'bg-accent-soft font-medium text-accent' : 'hover:bg-sunk'
              } ${node.entry.deleted ? 'line-through' : ''}`}
            >
              <span className="min-w-0 flex-1 truncate">{node.name}</span>
              {node.entry.deleted && <span className="sr-only">{t('taken away')}</span>}
            </button>
          ) : (
            <span className="flex min-h-7 items-center px-2 font-mono text-xs text-soft">{node.name}</span>
          )}
          {node.below.length > 0 && <Branch nodes={node.below} chosen={chosen} onChoose={onChoose} />}
        </li>
      ))}
    </ul>
  )
}

/** One key. It follows the newest revision until an older one is chosen. */
function Entry({ run, name }: { run: Run; name: string }) {
  const t = useT()
  const [revision, setRevision] = useState(0)
  const read = useQuery(boardRevisionsQuery(run.id, name))
  if (read.error && !read.data) return <Failed error={read.error} retry={() => void read.refetch()} />
  if (!read.data) return <Skeleton rows={4} />
  const all = [...read.data.items].sort((a, b) => b.revision - a.revision)
  const newest = all[0]
  const shown = all.find((one) => one.revision === revision) ?? newest
  if (!shown || !newest) return null
  const before = all[all.indexOf(shown) + 1]
  return (
    <>
      <h2 className="mb-2 font-mono text-xs wrap-anywhere text-soft">{name}</h2>
      {shown.deleted ? <p className="mb-3 text-sm text-soft">{t('taken away')}</p> : <Json value={shown.payload} name={t('Revision {n}', { n: shown.revision })} />}
      {before && (
        <section aria-label={t('Difference')} className="mt-4">
          <h3 className="mb-1 text-xs font-medium text-soft">{t('What changed since revision {n}', { n: before.revision })}</h3>
          <ValueDiff before={payloadOf(before)} after={payloadOf(shown)} label={t('Difference')} />
        </section>
      )}
      <h3 className="mt-4 mb-1 text-xs font-medium text-soft">{t('Revisions')}</h3>
      <ol>
        {all.map((one) => (
          <li key={one.revision}>
            <RevisionRow entry={one} shown={one === shown} onShow={() => setRevision(one === newest ? 0 : one.revision)} />
          </li>
        ))}
      </ol>
    </>
  )
}

/** What stood there; nothing where it was taken away. */
function payloadOf(entry: BoardEntry): unknown {
  return entry.deleted ? null : entry.payload
}

function RevisionRow({ entry, shown, onShow }: { entry: BoardEntry; shown: boolean; onShow: () => void }) {
  const t = useT()
  return (
    <button
      type="button"
      data-revision={entry.revision}
      aria-pressed={shown}
      onClick={onShow}
      className={`flex min-h-8 w-full flex-wrap items-center gap-x-3 rounded px-2 text-left text-sm transition-colors ${shown ? 'bg-accent-soft' : 'hover:bg-sunk'}`}
    >
      <span className="font-medium tabular-nums">{t('Revision {n}', { n: entry.revision })}</span>
      <Chip title={entry.attemptId}>{entry.writerId && entry.writerId !== entry.writer ? `${entry.writer} · ${entry.writerId}` : entry.writer}</Chip>
      {entry.deleted && <span className="text-xs text-soft">{t('taken away')}</span>}
      <span className="ml-auto text-xs text-soft">
        <Time at={entry.at} />
      </span>
    </button>
  )
}
