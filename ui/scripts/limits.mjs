// Fails when the build outgrew its limits (kB gzip) or fetches anything from another origin.
import { readdirSync, readFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'

const LIMITS = { entry: 230, chunk: 120, css: 25, fonts: 120, total: 550 }
const dist = new URL('../../src/windlass/server/ui_dist/', import.meta.url)
const html = readFileSync(new URL('index.html', dist), 'utf8')
const entries = new Set([...html.matchAll(/(?:src|href)="\.?\/?(assets\/[^"]+\.js)"/g)].map((m) => m[1]))
const problems = []
let total = 0
let entry = 0
let fonts = 0

for (const name of readdirSync(new URL('assets/', dist)).filter((n) => !n.endsWith('.gz'))) {
  const text = readFileSync(new URL(`assets/${name}`, dist))
  const kB = gzipSync(text, { level: 9 }).length / 1000
  const isFont = name.endsWith('.woff2')
  if (isFont) fonts += kB
  else total += kB
  const isEntry = entries.has(`assets/${name}`)
  if (isEntry) entry += kB
  else if (name.endsWith('.js') && kB > LIMITS.chunk) problems.push(`${name}: ${kB.toFixed(1)} kB`)
  if (name.endsWith('.css') && kB > LIMITS.css) problems.push(`${name}: ${kB.toFixed(1)} kB of CSS`)
  if (name.endsWith('.css') && /url\(["']?https?:/.test(text.toString())) problems.push(`${name}: foreign URL`)
  console.log(`${kB.toFixed(1).padStart(8)} kB  ${isEntry ? '*' : ' '} ${name}`)
}
if (entry > LIMITS.entry) problems.push(`entry: ${entry.toFixed(1)} kB, at most ${LIMITS.entry}`)
if (fonts > LIMITS.fonts) problems.push(`fonts: ${fonts.toFixed(1)} kB, at most ${LIMITS.fonts}`)
if (total > LIMITS.total) problems.push(`all of it: ${total.toFixed(1)} kB, at most ${LIMITS.total}`)
if (/(?:src|href)="https?:/.test(html)) problems.push('index.html fetches from another origin')
console.log(`${entry.toFixed(1).padStart(8)} kB  entry (limit ${LIMITS.entry})`)
console.log(`${total.toFixed(1).padStart(8)} kB  total (limit ${LIMITS.total})`)
for (const problem of problems) console.error(`too much: ${problem}`)
process.exit(problems.length ? 1 : 0)
