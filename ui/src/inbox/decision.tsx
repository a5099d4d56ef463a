/** One question as a card: what is asked, what it is about, how long there is, and the answers as buttons. */
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'

import { runQuery } from '@/api/queries'
import type { Checkpoint } from '@/api/types'
import { asWritten } from '@/graph/names'
import { useT } from '@/i18n'
import { Ago, Time } from '@/parts/clock'
import { Icon } from '@/parts/icons'
import { Json } from '@/parts/json'
import { Status } from '@/parts/status'

import { Answer } from './answer'
import { PathSoFar } from './path'
import { type KeyValue, keyValues, saysAll } from './values'

export function Decision({ item, onDone }: { item: Checkpoint; onDone: () => void }) {
  const t = useT()
  return (
    <section data-checkpoint={item.id} className="overflow-clip rounded-lg border border-line bg-panel">
      <header className="flex flex-wrap items-start gap-x-3 gap-y-1 px-4 pt-3">
        <h2 className="min-w-0 flex-1 text-lg font-semibold wrap-anywhere">{item.prompt || asWritten(item.node)}</h2>
        <Countdown item={item} />
      </header>
      <p className="px-4 pb-3 text-sm text-soft">
        <Link to="/runs/$id" params={{ id: item.runId }} search={{ task: item.taskId }} className="text-accent underline">
          {item.flow} {item.runId.slice(-6)}
        </Link>{' '}
        · {asWritten(item.node)} · {item.askedBy ? t('asked by {who}', { who: item.askedBy }) : t('asked')} <Time at={item.createdAt} />
      </p>
      <PathSoFar item={item} />
      <About item={item} />
      {item.blocksRun && item.state === 'open' && (
        <p className="mx-4 mb-3 flex items-center gap-2 rounded bg-wait-soft px-3 py-2 text-sm text-wait">
          <Icon name="waiting" />
          {t('The whole run is held back until this is answered.')}
        </p>
      )}
      {item.state === 'open' ? <Answer item={item} onDone={onDone} /> : <Answered item={item} />}
    </section>
  )
}

/** How long there is, while there is a bound; otherwise how it stands. */
function Countdown({ item }: { item: Checkpoint }) {
  const t = useT()
  if (item.state !== 'open' || !item.expiresAt) return <Status state={item.state} />
  return (
    <span className="inline-flex h-5 items-center gap-1 rounded bg-wait-soft px-1.5 text-xs font-medium text-wait">
      <Icon name="due" size={12} />
      {t('expires')} <Ago at={item.expiresAt} />
    </span>
  )
}

/** What is shown for the decision, then what the run was started with. */
function About({ item }: { item: Checkpoint }) {
  const t = useT()
  const run = useQuery(runQuery(item.runId))
  const shown = keyValues(item.show)
  const params = keyValues(run.data?.params)
  return (
    <div className="grid gap-3 px-4 pb-3 lg:grid-cols-2">
      <Values title={t('Shown for the decision')} rows={shown} />
      <Values title={t('Parameters of the run')} rows={params} />
      {!saysAll(item.show) && (
        <div className="min-w-0 lg:col-span-2">
          <Json value={item.show} name={t('Shown for the decision')} />
        </div>
      )}
    </div>
  )
}

function Values({ title, rows }: { title: string; rows: readonly KeyValue[] }) {
  if (rows.length === 0) return null
  return (
    <section className="min-w-0">
      <h3 className="mb-1 text-xs font-medium text-soft">{title}</h3>
      <dl className="grid grid-cols-[minmax(4rem,auto)_minmax(0,1fr)] text-sm">
        {rows.map((row) => (
          <div key={row.name} className="contents">
            <dt className="border-t border-line py-1.5 pr-4 text-soft">{row.name}</dt>
            <dd className="border-t border-line py-1.5 font-medium wrap-anywhere tabular-nums">{row.text}</dd>
          </div>
        ))}
      </dl>
    </section>
  )
}

function Answered({ item }: { item: Checkpoint }) {
  const t = useT()
  return (
    <div className="px-4 pb-4 text-sm">
      <p className="mb-2 flex flex-wrap items-center gap-2">
        <Status state={item.state} />
        {item.answeredBy && <b className="font-medium">{item.answeredBy}</b>} <Time at={item.answeredAt} />
        {item.note && <span className="text-soft">“{item.note}”</span>}
      </p>
      {item.answer !== null && <Json value={item.answer} name={t('Answer')} />}
    </div>
  )
}
