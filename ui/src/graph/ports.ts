/** The ports of a workflow's node: what it declares, and what edges name besides. */
import { readNode } from '@/package/manifest'

import type { Json, PortMark, Ports } from './definition'

interface PortWire {
  from: string
  to: string
  fromPort: string
  toPort: string
}

export function portsOf(node: Json, wires: readonly PortWire[]): Ports {
  const own = readNode(node)
  const id = node.id
  const marks = (declared: { key: string; label: string; path: string }[], named: string[], schema: unknown): PortMark[] => {
    const found = declared.map((port) => ({ key: port.key, name: port.label || port.key, type: typeAt(schema, port.path) }))
    const known = new Set(found.map((port) => port.key))
    for (const key of new Set(named)) if (key && !known.has(key)) found.push({ key, name: key, type: '' })
    return found
  }
  return {
    inputs: marks(own.inputs, wires.filter((wire) => wire.to === id).map((wire) => wire.toPort), own.parameters),
    outputs: marks(own.outputs, wires.filter((wire) => wire.from === id).map((wire) => wire.fromPort), own.results),
  }
}

/** The type a schema gives to `parameters.a.b`; '' where it says nothing. */
function typeAt(schema: unknown, path: string): string {
  let at = schema
  for (const part of path.split('.').slice(1)) {
    const properties = (at as { properties?: Record<string, unknown> } | undefined)?.properties
    at = properties?.[part]
  }
  const type = (at as { type?: unknown } | undefined)?.type
  return typeof type === 'string' ? type : ''
}
