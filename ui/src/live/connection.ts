/** The one connection of a browser: reads the stream, resumes after a cut, says how it is. */
import type { FromConnection, Link, News } from './news'
import { type Message, SseParser } from './sse'

const PAUSES_MS = [500, 1000, 2000, 4000, 8000]
const SILENCE_MS = 25_000
const STALE_MS = 10_000

export class Connection {
  private abort: AbortController | null = null
  private cutAt = 0
  private link: Link = { state: 'connecting' }
  private url = ''
  private token = ''
  private tenant = ''
  private wake: (() => void) | null = null
  private running = false

  /** `lastId` is where somebody else's connection stopped, if this one takes over. */
  constructor(
    private readonly tell: (message: FromConnection) => void,
    private lastId = '',
  ) {}

  /** Connect, or connect anew when the token or the tenant has changed. */
  start(url: string, token: string, tenant: string): void {
    const same = url === this.url && token === this.token && tenant === this.tenant
    this.url = url
    this.token = token
    this.tenant = tenant
    if (same && this.running && this.link.state !== 'denied') return
    this.link = { state: 'connecting' }
    this.abort?.abort()
    this.wake?.()
    if (!this.running) void this.loop()
  }

  /** Tell the present state again, for a tab that has just come. */
  say(): void {
    this.tell({ type: 'link', link: this.link, id: this.lastId })
  }

  /** Drop the connection as a broken network would. */
  cut(): void {
    this.abort?.abort()
  }

  private async loop(): Promise<void> {
    this.running = true
    let tries = 0
    for (;;) {
      const began = Date.now()
      const denied = await this.read()
      if (denied) this.set({ state: 'denied' })
      else this.lost()
      tries = Date.now() - began > 5000 ? 0 : tries + 1
      const pause = denied ? 3_600_000 : (PAUSES_MS[Math.min(tries, PAUSES_MS.length - 1)] ?? 8000)
      await this.sleep(pause)
    }
  }

  private sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer)
        this.wake = null
        resolve()
      }
      const timer = setTimeout(done, ms)
      this.wake = done
    })
  }

  /** One connection from its beginning to its end; true when the server wants another token. */
  private async read(): Promise<boolean> {
    const abort = new AbortController()
    this.abort = abort
    let quiet = setTimeout(() => abort.abort(), SILENCE_MS)
    try {
      const headers: Record<string, string> = { Accept: 'text/event-stream' }
      if (this.token) headers.Authorization = `Bearer ${this.token}`
      if (this.tenant) headers['Windlass-Tenant'] = this.tenant
      if (this.lastId) headers['Last-Event-ID'] = this.lastId
      const answer = await fetch(this.url, { headers, signal: abort.signal, cache: 'no-store' })
      if (answer.status === 401 || answer.status === 403) return true
      if (!answer.ok || !answer.body) return false
      this.cutAt = 0
      this.set({ state: 'live' })
      const parser = new SseParser()
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader()
      for (;;) {
        const { value, done } = await reader.read()
        if (done) return false
        clearTimeout(quiet)
        quiet = setTimeout(() => abort.abort(), SILENCE_MS)
        parser.feed(value).forEach((message) => this.take(message))
      }
    } catch {
      return false
    } finally {
      clearTimeout(quiet)
    }
  }

  private take(message: Message): void {
    if (message.id) this.lastId = message.id
    const news = newsOf(message)
    if (news) this.tell({ type: 'news', news, id: this.lastId })
    else this.say()
  }

  private lost(): void {
    if (!this.cutAt) {
      this.cutAt = Date.now()
      setTimeout(() => this.cutAt && this.lost(), STALE_MS)
    }
    const stale = Date.now() - this.cutAt >= STALE_MS - 50
    this.set({ state: stale ? 'stale' : 'reconnecting', since: this.cutAt })
  }

  private set(link: Link): void {
    if (link.state === this.link.state) return
    this.link = link
    this.say()
  }
}

export function newsOf(message: Message): News | null {
  switch (message.event) {
    case 'run':
    case 'checkpoint':
    case 'worker':
    case 'log':
      return { kind: message.event, items: JSON.parse(message.data) } as News
    case 'reset':
      return { kind: 'reset' }
    case 'poke':
      return { kind: 'poke' }
    default:
      return null
  }
}
