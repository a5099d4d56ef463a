/** The live store of a tab: gathers news, applies it once a frame, tells who looks. */
import type { QueryClient } from '@tanstack/react-query'
import { useSyncExternalStore } from 'react'

import { address, getTenant, getToken, isThere, needSignIn } from '@/api/client'
import { eventsPage } from '@/api/queries'
import type { Outline, Run } from '@/api/types'

import { openLink, type StreamLink } from './link'
import { applyEvents, fromOutline, nextEvents, type RunModel } from './model'
import type { FromConnection, Link, LogNews, News, RunNews } from './news'
import { type Latest, remember } from './rows'

interface State {
  link: Link
  latest: Latest
  models: ReadonlyMap<string, RunModel>
  /** How often open runs were heard to log something. */
  talk: ReadonlyMap<string, number>
}

const POKE_MS = 1000
const DOUBT_MS = 2500

class LiveStore {
  private state: State = { link: { state: 'connecting' }, latest: new Map(), models: new Map(), talk: new Map() }
  private readonly listeners = new Set<() => void>()
  private waiting: News[] = []
  private frame = false
  private stream: StreamLink | null = null
  private queries: QueryClient | null = null
  private doubt: ReturnType<typeof setTimeout> | undefined
  private readonly healing = new Set<string>()
  private readonly due = new Map<string, ReturnType<typeof setTimeout>>()

  get = (): State => this.state

  subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener)
    return () => this.listeners.delete(listener)
  }

  /** Join the browser's stream; called once, and again whenever the token changes. */
  start(queries: QueryClient): void {
    this.queries = queries
    this.stream ??= openLink((message) => this.take(message))
    this.stream.send({ type: 'start', url: address('stream'), token: getToken(), tenant: getTenant() })
  }

  /** Break the connection on purpose; tests do, to see that nothing is lost. */
  cut(): void {
    this.stream?.send({ type: 'cut' })
  }

  /** Begin to follow a run from an outline that was just read. */
  open(outline: Outline): void {
    const old = this.state.models.get(outline.id)
    if (old && old.seq >= outline.seq && old.tasks.size >= outline.tasks.length) return
    this.put(fromOutline(outline))
    const missed = this.state.latest.get(outline.id)
    if (missed && missed.seq > outline.seq) void this.heal(outline.id)
    // News of a run that was not open yet had nobody read the run itself again.
    const read = this.queries?.getQueryData<Run>(['run', outline.id])
    if (read && read.seq < outline.seq) this.soon(['run', outline.id], 0)
  }

  close(id: string): void {
    const models = new Map(this.state.models)
    models.delete(id)
    this.set({ models })
  }

  private take(message: FromConnection): void {
    if (message.type === 'link') {
      if (message.link.state === 'denied') needSignIn()
      this.set({ link: message.link })
      this.mind(message.link)
      return
    }
    this.waiting.push(message.news)
    if (this.frame) return
    this.frame = true
    if (document.hidden) setTimeout(() => this.flush(), 200)
    else requestAnimationFrame(() => this.flush())
  }

  /**
   * Without its stream a page may be cut off altogether: after a moment the server is asked, and
   * whether it answers is what the banner and the buttons go by. Back on the stream it is asked again.
   */
  private mind(link: Link): void {
    clearTimeout(this.doubt)
    if (link.state === 'live' || link.state === 'stale') void isThere()
    else if (link.state === 'reconnecting') this.doubt = setTimeout(() => void isThere(), DOUBT_MS)
  }

  private flush(): void {
    this.frame = false
    const batch = this.waiting
    this.waiting = []
    const runs: RunNews[] = []
    for (const news of batch) {
      if (news.kind === 'run') runs.push(...news.items)
      else if (news.kind === 'checkpoint') this.soon(['checkpoints'], 100)
      else if (news.kind === 'log') this.heard(news.items)
      else if (news.kind === 'worker') {
        this.soon(['workers'], 500)
        this.soon(['stats'], 2000)
      } else this.lookAgain()
    }
    if (runs.length) this.applyRuns(runs)
  }

  private heard(news: LogNews[]): void {
    const open = news.filter(({ runId }) => this.state.models.has(runId))
    if (open.length === 0) return
    const talk = new Map(this.state.talk)
    for (const { runId } of open) talk.set(runId, (talk.get(runId) ?? 0) + 1)
    this.set({ talk })
  }

  private applyRuns(news: RunNews[]): void {
    const models = new Map(this.state.models)
    for (const model of models.values()) {
      const { events, gap } = nextEvents(model, news)
      models.set(model.id, applyEvents(model, events))
      if (gap) void this.heal(model.id)
    }
    this.set({ models, latest: remember(this.state.latest, news) })
    this.soon(['stats'], 2000)
    for (const id of new Set(news.map((item) => item.runId))) {
      if (!models.has(id)) continue
      this.soon(['why', id], 400)
      this.soon(['run', id], 1000)
    }
  }

  /** Read what the stream did not bring, by `seq`, until nothing is missing. */
  private async heal(id: string): Promise<void> {
    if (this.healing.has(id)) return
    this.healing.add(id)
    try {
      for (;;) {
        const model = this.state.models.get(id)
        if (!model) return
        const page = await eventsPage(id, model.seq, 1000)
        const now = this.state.models.get(id)
        if (!now) return
        this.put(applyEvents(now, page.items as unknown as RunNews[]))
        if (!page.next) return
      }
    } catch {
      setTimeout(() => void this.heal(id), 2000)
    } finally {
      this.healing.delete(id)
    }
  }

  /** Something happened that the stream cannot tell: heal open runs, read visible lists again. */
  private lookAgain(): void {
    for (const id of this.state.models.keys()) void this.heal(id)
    this.heard([...this.state.models.keys()].map((runId) => ({ runId })))
    for (const key of ['runs', 'run', 'why', 'checkpoints', 'workers', 'stats']) this.soon([key], POKE_MS)
  }

  private soon(key: string[], ms: number): void {
    const name = key.join(' ')
    if (this.due.has(name)) return
    const timer = setTimeout(() => {
      this.due.delete(name)
      void this.queries?.invalidateQueries({ queryKey: key })
    }, ms)
    this.due.set(name, timer)
  }

  private put(model: RunModel): void {
    this.set({ models: new Map(this.state.models).set(model.id, model) })
  }

  private set(change: Partial<State>): void {
    this.state = { ...this.state, ...change }
    this.listeners.forEach((listener) => listener())
  }
}

export const live = new LiveStore()

export function useLink(): Link {
  return useSyncExternalStore(live.subscribe, () => live.get().link)
}

export function useLatest(): Latest {
  return useSyncExternalStore(live.subscribe, () => live.get().latest)
}

/** A number that changes when an open run has logged something. */
export function useTalk(id: string): number {
  return useSyncExternalStore(live.subscribe, () => live.get().talk.get(id) ?? 0)
}

export function useRunModel(id: string): RunModel | undefined {
  return useSyncExternalStore(live.subscribe, () => live.get().models.get(id))
}
