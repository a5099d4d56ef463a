/** One dead letter: what it was, what was tried, and what to do with it. */
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'

import { letterQuery, type LetterVerb } from '@/api/dead-letters'
import { isUnknown } from '@/api/client'
import type { DeadLetterDetail } from '@/api/types'
import { useT } from '@/i18n'
import { Button, Chip, IconButton, Skeleton } from '@/parts/basics'
import { Time } from '@/parts/clock'
import { CopyAs } from '@/parts/copy'
import { Empty, Failed } from '@/parts/feedback'
import { Icon } from '@/parts/icons'
import { useCanAct, useMayAct } from '@/shell/health'

interface Props {
  id: string
  onClose: () => void
  onAct: (verb: LetterVerb, id: string) => void
}

export function LetterDetail({ id, onClose, onAct }: Props) {
  const t = useT()
  const read = useQuery(letterQuery(id))
  return (
    <aside aria-label={t('Dead letter')} className="min-w-0 overflow-clip rounded-lg border border-line bg-panel">
      {isUnknown(read.error) ? (
        <Empty icon="check" title={t('This letter is gone: it was replayed or dropped.')}>
          <Button onClick={onClose}>{t('Close')}</Button>
        </Empty>
      ) : read.error && !read.data ? (
        <Failed error={read.error} retry={() => void read.refetch()} />
      ) : !read.data ? (
        <Skeleton />
      ) : (
        <Body letter={read.data} onClose={onClose} onAct={onAct} />
      )}
    </aside>
  )
}

/** What to do next; a server that knows of another move words it itself. */
function adviceOn({ kind, nextMove }: DeadLetterDetail) {
  switch (nextMove) {
    case 'replay':
      return kind === 'task' ? 'Replay it once its cause is gone.' : 'Replay it once whoever it is addressed to can do it.'
    case 'drop':
      return 'Its run is gone: drop it.'
    case 'wait':
      return 'Its run went on: replay it once that has ended, or now with all that came after it.'
    case 'mend':
      return 'As it stands it fails again: mend what it says, then replay it.'
    default:
      return null
  }
}

function Body({ letter, onClose, onAct }: { letter: DeadLetterDetail; onClose: () => void; onAct: Props['onAct'] }) {
  const t = useT()
  const canAct = useCanAct()
  const mayAct = useMayAct()
  const advice = adviceOn(letter)
  return (
    <>
      <header className="flex items-center gap-2 py-2 pr-2 pl-3">
        <h2 className="mr-auto min-w-0 truncate text-lg font-semibold">{letter.name}</h2>
        <IconButton icon="close" label={t('Close')} onClick={onClose} />
      </header>
      <div className="px-3 pb-3">
        <p className="mb-3 text-sm text-soft">
          <Link to="/runs/$id" params={{ id: letter.runId }} search={letter.kind === 'task' ? { task: letter.id } : {}} className="text-accent underline">
            {letter.flow} {letter.runId.slice(-6)}
          </Link>{' '}
          · {t('given up')} <Time at={letter.diedAt} /> · {t('{n} tries', { n: letter.tries })}
        </p>
        <p className="mb-3 rounded-lg bg-bad-soft p-3 font-mono text-xs wrap-anywhere whitespace-pre-wrap text-bad">{letter.message || letter.failureClass}</p>
        <p data-next-move={letter.nextMove} className="mb-3 flex items-start gap-2 text-sm">
          <Icon name="hint" className="mt-0.5 text-accent" />
          {advice ? t(advice) : letter.advice}
        </p>
        <div className="mb-4 flex flex-wrap gap-1.5">
          {mayAct && (
            <>
              <Button icon="retry" look={letter.nextMove === 'replay' ? 'main' : 'plain'} disabled={!canAct} onClick={() => onAct('replay', letter.id)}>
                {t('Replay')}
              </Button>
              <Button icon="remove" look="danger" disabled={!canAct} onClick={() => onAct('drop', letter.id)}>
                {t('Drop')}
              </Button>
            </>
          )}
          <CopyAs cli={`windlass dead show ${letter.id}`} path={`dead-letters/${encodeURIComponent(letter.id)}`} />
        </div>
        <h3 className="mb-1 text-sm font-semibold">{t('What was tried')}</h3>
        <ol className="text-sm">
          {letter.history.map((one) => (
            <li key={`${one.number} ${one.at}`} className="flex flex-wrap items-baseline gap-x-2 border-t border-line py-1.5">
              <b className="tabular-nums">#{one.number}</b>
              <Chip>{one.failureClass}</Chip>
              <span className="text-soft">{one.by}</span>
              <span className="ml-auto text-xs text-soft">
                <Time at={one.at} />
              </span>
              <span className="w-full text-xs wrap-anywhere text-soft">{one.message}</span>
            </li>
          ))}
        </ol>
      </div>
    </>
  )
}
