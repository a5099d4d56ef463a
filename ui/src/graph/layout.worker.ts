import { type Box, layout, type Wire } from './layout'

self.onmessage = (event: MessageEvent<{ id: number; boxes: Box[]; wires: Wire[] }>) => {
  const { id, boxes, wires } = event.data
  self.postMessage({ id, layout: layout(boxes, wires) })
}
