/** Lays a graph out in a worker, so a large one never holds up the page. */
import { useEffect, useState } from 'react'

import { soon } from '@/shell/later'

import type { Box, Layout, Wire } from './layout'

let worker: Worker | null = null
let count = 0
const waiting = new Map<number, (layout: Layout) => void>()

function started(): Worker {
  if (!worker) {
    worker = new Worker(new URL('./layout.worker.ts', import.meta.url), { type: 'module' })
    worker.onmessage = (event: MessageEvent<{ id: number; layout: Layout }>) => {
      waiting.get(event.data.id)?.(event.data.layout)
      waiting.delete(event.data.id)
    }
  }
  return worker
}

// Its code has to be there before the first graph, which may be opened when the server is gone.
soon(() => Promise.resolve(started()))

function ask(boxes: Box[], wires: Wire[], room: number): Promise<Layout> {
  count += 1
  const id = count
  started().postMessage({ id, boxes, wires, room })
  return new Promise((resolve) => waiting.set(id, resolve))
}

/** The layout of a graph; the former one until the new one is there. `key` says when it changed. */
export function useLayout(boxes: Box[], wires: Wire[], key: string, room: number): Layout | null {
  const [found, setFound] = useState<Layout | null>(null)
  useEffect(() => {
    let gone = false
    void ask(boxes, wires, room).then((layout) => {
      if (!gone) setFound(layout)
    })
    return () => {
      gone = true
    }
    // The key stands for boxes and wires, which are made anew at every render.
  }, [key])
  return found
}
