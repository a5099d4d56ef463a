/** What a package's manifest says, read without trusting it: anything missing is simply not shown. */

export interface Port {
  key: string
  label: string
  /** Where its value lies in the node's data: `parameters.url`, `results.page`. */
  path: string
}

export interface NodeTemplate {
  type: string
  label: string
  role: string
  category: string
  description: string
  tags: string[]
  inputs: Port[]
  outputs: Port[]
  parameters: unknown
  results: unknown
}

export interface Manifest {
  description: string
  python: string
  adapters: { name: string; description: string; capabilities: string[] }[]
  nodes: NodeTemplate[]
}

type Json = Record<string, unknown>

function object(value: unknown): Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : {}
}

function objects(value: unknown): Json[] {
  return Array.isArray(value) ? value.map(object) : []
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

function texts(value: unknown): string[] {
  return Array.isArray(value) ? value.map(text).filter(Boolean) : []
}

export function readPorts(value: unknown): Port[] {
  return objects(value)
    .map((port) => ({ key: text(port.key), label: text(port.label), path: text(object(port.binding).path) }))
    .filter((port) => port.key)
}

export function readNode(value: unknown): NodeTemplate {
  const node = object(value)
  const ui = object(node.ui)
  const schema = object(node.schema)
  return {
    type: text(node.type),
    label: text(node.label) || text(node.type),
    role: text(node.role) || 'node',
    category: text(node.category),
    description: text(node.description),
    tags: texts(node.tags),
    inputs: readPorts(ui.inputPorts),
    outputs: readPorts(ui.outputPorts),
    parameters: schema.parameters ?? null,
    results: schema.results ?? null,
  }
}

export function readManifest(value: unknown): Manifest {
  const manifest = object(value)
  return {
    description: text(manifest.description),
    python: text(object(manifest.python).requires),
    adapters: objects(manifest.adapters).map((one) => ({
      name: text(one.name),
      description: text(one.description),
      capabilities: texts(one.capabilities),
    })),
    nodes: (Array.isArray(manifest.nodes) ? manifest.nodes : []).map(readNode),
  }
}

export interface SchemaField {
  name: string
  type: string
  required: boolean
  standard: string
}

/** The properties of an object's schema, one a line. */
export function fieldsOf(schema: unknown): SchemaField[] {
  const { properties, required } = object(schema)
  const needed = new Set(texts(required))
  return Object.entries(object(properties)).map(([name, raw]) => {
    const field = object(raw)
    const choices = Array.isArray(field.enum) ? field.enum.map((one) => JSON.stringify(one)).join(' | ') : ''
    const type = Array.isArray(field.type) ? texts(field.type).join(' | ') : text(field.type)
    return {
      name,
      type: choices || type || 'any',
      required: needed.has(name),
      standard: field.default === undefined ? '' : JSON.stringify(field.default),
    }
  })
}

/** The value a port carries, out of a task's input or output. */
export function valueAt(data: unknown, path: string): unknown {
  let found: unknown = data
  // The first step says which side it is on: parameters are the input, results the output.
  for (const step of path.split('.').slice(1)) {
    if (typeof found !== 'object' || found === null) return undefined
    found = (found as Record<string, unknown>)[step]
  }
  return found
}
