import { type Box, layout, type Wire } from './layout'

self.onmessage = (event: MessageEvent<{ id: number; boxes: Box[]; wires: Wire[]; room: number }>) => {
  const { id, boxes, wires, room } = event.data
  self.postMessage({ id, layout: layout(boxes, wires, room) })
}
