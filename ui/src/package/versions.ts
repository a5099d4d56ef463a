/** Where a version stands among the others; the server lists them newest first. */
import type { Package } from '@/api/types'

export type Move = 'none' | 'back' | 'forward'

/** What it means to let `latest` point at a version. */
export function moveTo(pack: Pick<Package, 'versions' | 'defaultVersion'>, version: string): Move {
  const now = pack.versions.indexOf(pack.defaultVersion ?? '')
  const next = pack.versions.indexOf(version)
  if (now === next) return 'none'
  return next > now ? 'back' : 'forward'
}

/** The tags that point at a version. */
export function tagsOf(pack: Pick<Package, 'distTags'>, version: string): string[] {
  return Object.entries(pack.distTags as Record<string, string>)
    .filter(([, one]) => one === version)
    .map(([tag]) => tag)
    .sort()
}
