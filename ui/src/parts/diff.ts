/** What changed between two values: their JSON with sorted keys, compared line by line. */

export interface Line {
  kind: 'same' | 'added' | 'removed'
  text: string
  /** How many lines without a change it stands for. */
  hidden?: number
}

/** The lines near a change; longer stretches without one become a single line that counts them. */
export function folded(lines: readonly Line[], around = 3): Line[] {
  const near = new Set<number>()
  lines.forEach((line, at) => {
    if (line.kind === 'same') return
    for (let by = -around; by <= around; by += 1) near.add(at + by)
  })
  const shown: Line[] = []
  let hidden = 0
  const flush = () => {
    if (hidden) shown.push({ kind: 'same', text: `⋯ ${hidden}`, hidden })
    hidden = 0
  }
  lines.forEach((line, at) => {
    if (!near.has(at)) {
      hidden += 1
      return
    }
    flush()
    shown.push(line)
  })
  flush()
  return shown
}

export function sortedJson(value: unknown): string {
  const sort = (part: unknown): unknown => {
    if (Array.isArray(part)) return part.map(sort)
    if (typeof part !== 'object' || part === null) return part
    const entries = Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1))
    return Object.fromEntries(entries.map(([key, inner]) => [key, sort(inner)]))
  }
  return JSON.stringify(sort(value), null, 2) ?? 'null'
}

export function diffJson(before: unknown, after: unknown): Line[] {
  return diffLines(sortedJson(before).split('\n'), sortedJson(after).split('\n'))
}

const CELLS_MAX = 4_000_000

/** The shortest edit between two lists of lines; very long ones are only compared at their ends. */
export function diffLines(a: readonly string[], b: readonly string[]): Line[] {
  let head = 0
  while (head < a.length && head < b.length && a[head] === b[head]) head += 1
  let tail = 0
  while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) {
    tail += 1
  }
  const same = (text: string): Line => ({ kind: 'same', text })
  return [
    ...a.slice(0, head).map(same),
    ...middle(a.slice(head, a.length - tail), b.slice(head, b.length - tail)),
    ...a.slice(a.length - tail).map(same),
  ]
}

function middle(a: readonly string[], b: readonly string[]): Line[] {
  const removed = (text: string): Line => ({ kind: 'removed', text })
  const added = (text: string): Line => ({ kind: 'added', text })
  if (a.length * b.length > CELLS_MAX) return [...a.map(removed), ...b.map(added)]
  const width = b.length + 1
  const common = new Uint32Array((a.length + 1) * width)
  const at = (i: number, j: number) => common[i * width + j] ?? 0
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) {
      common[i * width + j] = a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1))
    }
  }
  const lines: Line[] = []
  let i = 0
  let j = 0
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      lines.push({ kind: 'same', text: a[i] as string })
      i += 1
      j += 1
    } else if (j >= b.length || (i < a.length && at(i + 1, j) >= at(i, j + 1))) {
      lines.push(removed(a[i] as string))
      i += 1
    } else {
      lines.push(added(b[j] as string))
      j += 1
    }
  }
  return lines
}
