/** What the wording of a reason is made with: its values, names of nodes, and spans that count. */
import type { Reason } from '@/api/types'
import { formatSeconds } from '@/time/format'

export type Values = Reason['values']
export type Code = Reason['code']

/** A reason's values as words need them. All spans are whole seconds: they are read while they change. */
export class Said {
  constructor(
    readonly v: Values,
    private readonly now: number,
    private readonly nameOf: (path: string) => string,
  ) {}

  /** The task: `"fetch"[3]`. */
  get task(): string {
    return `"${this.nameOf(this.v.node ?? '')}"${(this.v.idx ?? -1) >= 0 ? `[${this.v.idx}]` : ''}`
  }

  get left(): string {
    return this.span((this.v.until ?? 0) - this.now)
  }

  get passed(): string {
    return this.span(this.now - (this.v.since ?? 0))
  }

  get installing(): string {
    return this.span(this.now - (this.v.installAt ?? 0))
  }

  get heard(): string {
    return this.span(this.now - (this.v.heardAt ?? 0))
  }

  get failsAfter(): string {
    return this.span((this.v.failsAfterS ?? 0) * 1000)
  }

  get percent(): string {
    const share = this.v.share ?? -1
    return share < 0 ? '' : `${Math.round(share * 100)}%`
  }

  private span(ms: number): string {
    return formatSeconds(Math.max(0, Math.round(ms / 1000)))
  }
}

/** A wording for every code; the compiler holds it complete. */
export type Words = Record<Code, (s: Said) => string>

/** What another exec type is called by the transport that serves it. */
export const EXEC_TYPES: Record<string, string> = { pull: 'queue', push: 'http' }

/** Texts that are there, one after the other. */
export const join = (separator: string, ...parts: (string | false | undefined)[]) => parts.filter(Boolean).join(separator)
