/** A value as JSON with sorted keys: what is the same reads the same. */
export function sortedJson(value: unknown): string {
  const sort = (part: unknown): unknown => {
    if (Array.isArray(part)) return part.map(sort)
    if (typeof part !== 'object' || part === null) return part
    const entries = Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1))
    return Object.fromEntries(entries.map(([key, inner]) => [key, sort(inner)]))
  }
  return JSON.stringify(sort(value), null, 2) ?? 'null'
}
