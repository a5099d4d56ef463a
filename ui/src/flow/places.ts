/** Where in a text a problem lies: its path of keys followed through JSON or YAML, line by line. */

/** The line (from 1) of the last part of a path that can be found; 1 when nothing can. */
export function lineOf(text: string, path: string): number {
  const lines = text.split('\n')
  let at = 0
  for (const part of path.split(/[./[\]]+/).filter((one) => one && one !== '$')) {
    if (/^\d+$/.test(part)) continue
    const key = new RegExp(`(^|[\\s{,-])["']?${escapeRegExp(part)}["']?\\s*:`)
    const next = lines.findIndex((line, place) => place >= at && key.test(line))
    if (next < 0) break
    at = next
  }
  return at + 1
}

function escapeRegExp(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
}

/** Whether a text is meant as JSON; everything else is read as YAML. */
export function isJson(text: string): boolean {
  return text.trimStart().startsWith('{')
}
