// Packs every file of the build once, so the server only has to hand it over.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'

const folder = new URL('../../src/windlass/server/ui_dist/assets/', import.meta.url)
for (const name of readdirSync(folder)) {
  if (name.endsWith('.gz')) continue
  const file = new URL(name, folder)
  writeFileSync(new URL(`${name}.gz`, folder), gzipSync(readFileSync(file), { level: 9 }))
}
