/** What the attempts of a run wrote, as one stream; narrowed by the server, over all of it and not only what is on screen. */
import { useDeferredValue, useEffect, useMemo, useRef, useState } from 'react'

import { saveAs } from '@/api/client'
import { logsPage } from '@/api/queries'
import { plain } from '@/code/ansi'
import { useT } from '@/i18n'
import { useTalk } from '@/live/store'
import { Button, Skeleton } from '@/parts/basics'
import { Empty, Failed, toastError } from '@/parts/feedback'

import { cutWords, LogBar, wordsOf } from './log-bar'
import { LogRows } from './log-rows'
import { EVERYTHING, fileOf, KEPT_MAX, type Known, LogFollower, type LogQuery, type LogState, NOTHING, queryOf, type Wanted } from './log-stream'
import { useNames } from './names'

const TYPED_MS = 250
/** So near to its end, somebody reads the end. */
const NEAR_PX = 24

interface Props {
  runId: string
  /** Only of this task: the page is about it. */
  task?: string
  seq: number
  running: boolean
  onSelect?: (task: string) => void
}

export function LogsView({ runId, task = '', seq, running, onSelect }: Props) {
  const t = useT()
  const names = useNames()
  const [wanted, setWanted] = useState<Wanted>(EVERYTHING)
  const asked = useSettled(wanted)
  const query = useMemo(() => queryOf({ ...asked, task: task || asked.task }), [asked, task])
  const { state, earlier } = useLogs(runId, query, seq, running)
  const entries = useDeferredValue(state.entries)
  const known = useKnown(state)
  const [follow, setFollow] = useState(true)
  const box = useFollow(follow, entries)
  const { keep, cutAt } = useFile(runId, query)
  const narrowed = wordsOf(t, asked, (id) => names.ofTask(id))
  if (state.error && !state.loaded) return <Failed error={state.error} />
  if (state.loaded && state.entries.length === 0 && !state.earlier && !narrowed && wanted === asked)
    return <Empty icon="logs" title={t('No attempt has written a log.')} command={`windlass run logs ${runId}`} />
  return (
    <>
      <LogBar wanted={wanted} known={task ? { ...known, tasks: [] } : known} running={running} follow={follow} onWant={setWanted} onFollow={setFollow} onKeep={keep} />
      {cutAt > 0 && (
        <p role="status" className="border-b border-line bg-wait-soft p-2 text-sm">
          {cutWords(t, cutAt)}
        </p>
      )}
      <div
        ref={box}
        className="min-h-0 flex-1 overflow-auto"
        tabIndex={0}
        role="log"
        aria-live="off"
        aria-label={t('Logs')}
        onScroll={(event) => setFollow(isAtEnd(event.currentTarget))}
      >
        {!state.loaded && <Skeleton rows={6} />}
        {state.loaded && state.entries.length === 0 && (
          <Empty title={state.earlier ? t('Nothing yet for {filter}', { filter: narrowed }) : t('Nothing matches {filter}', { filter: narrowed })}>
            <Button onClick={() => setWanted(EVERYTHING)}>{t('Clear the filter')}</Button>
          </Empty>
        )}
        {state.earlier && (
          <div className="flex justify-center p-2">
            <Button onClick={earlier}>{t('Load earlier')}</Button>
          </div>
        )}
        {state.entries.length >= KEPT_MAX && <p className="p-2 text-center text-xs text-soft">{t('What is earlier is in the file.')}</p>}
        <LogRows entries={entries} find={asked.find} onSelect={onSelect} />
      </div>
    </>
  )
}

/** What is wanted once nobody types any more. */
function useSettled(wanted: Wanted): Wanted {
  const [settled, setSettled] = useState(wanted)
  useEffect(() => {
    const timer = setTimeout(() => setSettled(wanted), TYPED_MS)
    return () => clearTimeout(timer)
  }, [wanted])
  return settled
}

/** The stream under one filter, live while the run goes on. */
function useLogs(runId: string, query: LogQuery, seq: number, running: boolean) {
  const [state, setState] = useState<LogState>(NOTHING)
  const follower = useRef<LogFollower | null>(null)
  useEffect(() => {
    setState(NOTHING)
    const one = new LogFollower((page, signal) => logsPage(runId, page, signal), query, setState)
    follower.current = one
    one.start()
    return () => one.stop()
  }, [runId, query])
  const talk = useTalk(runId)
  useEffect(() => follower.current?.nudge(running), [runId, query, seq, running, talk])
  return { state, earlier: () => follower.current?.earlier() }
}

/** Having the logs as a file; where it had to end, if it did, until something else is asked for. */
function useFile(runId: string, query: LogQuery) {
  const names = useNames()
  const [cutAt, setCutAt] = useState(0)
  useEffect(() => setCutAt(0), [runId, query])
  const keep = () => {
    setCutAt(0)
    fileOf((page, signal) => logsPage(runId, page, signal), query, (id) => names.ofTask(id), new AbortController().signal)
      .then(({ lines, cut }) => {
        saveAs(new Blob(lines.map(plain), { type: 'text/plain' }), `${runId}.log`)
        if (cut) setCutAt(lines.length)
      })
      .catch(toastError)
  }
  return { keep, cutAt }
}

/** The tasks and attempts that have been seen, under whatever filter. */
function useKnown(state: LogState): Known {
  const [known, setKnown] = useState<Known>({ tasks: [], attempts: 1 })
  useEffect(() => {
    const tasks = new Set(known.tasks)
    let attempts = known.attempts
    for (const entry of state.entries) {
      tasks.add(entry.task)
      attempts = Math.max(attempts, entry.attempt)
    }
    if (tasks.size !== known.tasks.length || attempts !== known.attempts) setKnown({ tasks: [...tasks], attempts })
  }, [state.entries, known])
  return known
}

function isAtEnd(box: HTMLElement): boolean {
  return box.scrollHeight - box.scrollTop - box.clientHeight <= NEAR_PX
}

/** Keep the end in view while it grows; what is added above moves nothing either. */
function useFollow(on: boolean, entries: LogState['entries']) {
  const box = useRef<HTMLDivElement>(null)
  useEffect(() => {
    if (on && box.current) box.current.scrollTop = box.current.scrollHeight
  }, [on, entries])
  return box
}
