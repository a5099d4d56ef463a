import { type Box, layout, type Wire } from './layout'

self.onmessage = (event: MessageEvent<{ id: number; boxes: Box[]; wires: Wire[]; turns: boolean }>) => {
  const { id, boxes, wires, turns } = event.data
  self.postMessage({ id, layout: layout(boxes, wires, turns) })
}
