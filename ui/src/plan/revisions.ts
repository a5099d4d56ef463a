/** How a run's graph has grown, revision by revision: what came, what stayed, what was given up. */
import type { Revision } from '@/api/types'

export interface Step {
  revision: number
  at: number
  reason: string
  /** The task that asked for it; '' where nobody did. */
  author: string
  added: string[]
  kept: string[]
  superseded: string[]
  redone: string[]
}

export function stepsOf(revisions: readonly Revision[]): Step[] {
  let standing = new Set<string>()
  return revisions.map((one) => {
    const gone = (path: string) => one.dropped.some((top) => path === top || path.startsWith(`${top}/`))
    const superseded = [...standing].filter(gone)
    const kept = [...standing].filter((path) => !gone(path))
    standing = new Set([...kept, ...one.added])
    const { revision, at, reason, author, added, redone } = one
    return { revision, at, reason, author, added: [...added], kept, superseded, redone: [...redone] }
  })
}
