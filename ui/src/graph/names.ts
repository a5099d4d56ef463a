/** Names people gave to nodes. The engine knows a workflow's nodes by ids; pages show labels. */
import type { FlowGraph } from './definition'

const PLAN = 'plan/'

export class Names {
  private readonly known: ReadonlyMap<string, string>
  private readonly made = new Map<string, string>()
  private readonly labelled: boolean

  /** In a run that is planned everything is inside the one node `plan`, which need not be said each time. */
  constructor(
    graph?: FlowGraph,
    private readonly planned = false,
  ) {
    this.known = new Map(graph?.nodes.map((node) => [node.path, node.name]))
    this.labelled = graph?.nodes.some((node) => node.source) ?? false
  }

  /** A node by its path: `Box/Inside`. What nothing is known of keeps the engine's name. */
  of(path: string): string {
    let found = this.made.get(path)
    if (found === undefined) {
      const inside = this.planned && path.startsWith(PLAN)
      found = this.join(path.split('/'), inside ? 1 : 0)
      this.made.set(path, found)
    }
    return found
  }

  /** A node within what is around it: `Inside`. */
  last(path: string): string {
    const own = this.known.get(path)
    return own ?? this.of(path).split('/').at(-1) ?? path
  }

  private join(steps: string[], from: number): string {
    const words: string[] = []
    steps.forEach((step, at) => {
      const name = this.known.get(steps.slice(0, at + 1).join('/'))
      // A node behind its middlewares has the name of the whole; an iteration has none of its own.
      const silent = (step === 'host' && name === words.at(-1)) || (step === 'body' && name === undefined && at > 0)
      if (!silent) words.push(name ?? decode(step))
    })
    return words.slice(from).join('/')
  }

  /** A task by its id: `Box/Inside` of a workflow, the alias of a plan's; of a flow the place as the CLI writes it, `fetch.1~3`. */
  ofTask(id: string): string {
    const [, ...parts] = id.split('~')
    if (!this.labelled && !this.planned) return parts.map(decode).join('~') || id
    let path = ''
    let index = ''
    for (const part of parts) {
      if (/^\d+$/.test(part)) index += `[${part}]`
      else {
        const key = decode(part.replace(/\.[^.]*$/, ''))
        path = path ? `${path}/${key}` : key
      }
    }
    return `${this.of(path)}${index}` || id
  }
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/

/** A node's path, or a task's place, as people wrote it: for their eyes, and never to look anything up by. */
export function asWritten(path: string): string {
  return path.split('/').map(decode).join('/')
}

/** A node's path where its name is not at hand: an id says nothing to anybody and is left out. */
export function plainNode(path: string | undefined): string {
  return path && !UUID.test(path) ? asWritten(path) : ''
}
