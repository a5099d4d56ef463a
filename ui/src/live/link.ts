/** Joins this tab to the browser's one stream: a shared worker, or else an elected tab. */
import { Connection } from './connection'
import type { FromConnection, ToConnection } from './news'

export interface StreamLink {
  send(message: ToConnection): void
}

export function openLink(take: (message: FromConnection) => void): StreamLink {
  return typeof SharedWorker === 'undefined' ? electedTab(take) : sharedWorker(take)
}

function sharedWorker(take: (message: FromConnection) => void): StreamLink {
  const worker = new SharedWorker(new URL('./stream.worker.ts', import.meta.url), {
    type: 'module',
    name: 'windlass-stream',
  })
  worker.port.onmessage = (event: MessageEvent<FromConnection>) => take(event.data)
  addEventListener('pagehide', () => worker.port.postMessage({ type: 'bye' } satisfies ToConnection))
  return { send: (message) => worker.port.postMessage(message) }
}

const UNKNOWN = 'unknown'

/** The tab that holds the lock reads the stream and passes everything on to the others. */
function electedTab(take: (message: FromConnection) => void): StreamLink {
  const channel = new BroadcastChannel('windlass-stream')
  let connection: Connection | null = null
  let start: Extract<ToConnection, { type: 'start' }> | null = null
  let lastId = ''
  let led = false
  channel.onmessage = (event: MessageEvent<FromConnection | ToConnection>) => {
    const sent = event.data
    if (sent.type === 'start') connection?.say()
    else if (sent.type === 'link' || sent.type === 'news') {
      lastId = sent.id
      led = true
      take(sent)
    }
  }
  void navigator.locks.request('windlass-stream', () => {
    // The tab that led is gone; this one goes on from the last thing it heard. Where that is not
    // known, the server says so, and every tab reads anew.
    connection = new Connection((message) => {
      take(message)
      channel.postMessage(message)
    }, lastId || (led ? UNKNOWN : ''))
    if (start) connection.start(start.url, start.token, start.tenant)
    return new Promise<never>(() => undefined)
  })
  return {
    send(message) {
      if (message.type === 'cut') connection?.cut()
      if (message.type !== 'start') return
      start = message
      if (connection) connection.start(message.url, message.token, message.tenant)
      else channel.postMessage(message)
    },
  }
}
