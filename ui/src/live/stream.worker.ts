/** The shared worker: one connection for all tabs of a browser. */
import { Connection } from './connection'
import type { FromConnection, ToConnection } from './news'

const scope = self as unknown as SharedWorkerGlobalScope
const ports = new Set<MessagePort>()
const connection = new Connection((message: FromConnection) => {
  for (const port of ports) port.postMessage(message)
})

scope.onconnect = (event) => {
  const port = event.ports[0]
  if (!port) return
  ports.add(port)
  port.onmessage = (sent: MessageEvent<ToConnection>) => {
    if (sent.data.type === 'bye') ports.delete(port)
    else if (sent.data.type === 'cut') connection.cut()
    else {
      connection.start(sent.data.url, sent.data.token, sent.data.tenant)
      connection.say()
    }
  }
}
