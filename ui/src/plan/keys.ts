/** The keys of a blackboard as a tree: by run and task, then by the parts of the rest. */
import type { BoardEntry } from '@/api/types'

export interface KeyNode {
  /** What it adds to the key of the node above. */
  name: string
  /** The task of a branch at the top; '' of the run's own. */
  task: string
  entry: BoardEntry | null
  below: KeyNode[]
}

// A task's id has dots of its own; what comes after it begins with one of these.
const KEY = /^bb\.(run|task)\.(.+?)\.((?:context|plan|deps|progress|result|artifacts|verifier|human)(?:\..*)?)$/

export function treeOf(entries: readonly BoardEntry[]): KeyNode[] {
  const tops = new Map<string, KeyNode>()
  for (const entry of entries) {
    const [, kind = '', owner = '', rest = entry.key] = KEY.exec(entry.key) ?? []
    const name = `${kind}.${owner}`
    const top = tops.get(name) ?? { name, task: kind === 'task' ? owner : '', entry: null, below: [] }
    tops.set(name, top)
    put(top, rest.split('.'), entry)
  }
  return [...tops.values()].map((top) => ({ ...top, below: top.below.map(joined) }))
}

/** The key that is shown until one is chosen. */
export function firstKey(nodes: readonly KeyNode[]): string {
  for (const node of nodes) {
    const found = node.entry?.key ?? firstKey(node.below)
    if (found) return found
  }
  return ''
}

function put(top: KeyNode, steps: readonly string[], entry: BoardEntry): void {
  let at = top
  for (const name of steps) {
    let next = at.below.find((one) => one.name === name)
    if (!next) at.below.push((next = { name, task: '', entry: null, below: [] }))
    at = next
  }
  at.entry = entry
}

/** A branch with nothing but one more below it is one line. */
function joined(node: KeyNode): KeyNode {
  const below = node.below.map(joined)
  const only = below[0]
  if (node.entry || below.length !== 1 || !only) return { ...node, below }
  return { ...only, name: `${node.name}.${only.name}` }
}
