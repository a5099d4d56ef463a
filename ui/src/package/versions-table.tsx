/** The versions of a package with their status and tags; each opens itself. */
import { useQueries } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'

import { packageQuery } from '@/api/queries'
import type { PackageDetail } from '@/api/types'
import { useT } from '@/i18n'
import { Panel } from '@/parts/basics'
import { Status } from '@/parts/status'

import { tagsOf } from './versions'

const SHOWN_MAX = 30

export function Versions({ shown }: { shown: PackageDetail }) {
  const t = useT()
  const versions = shown.versions.slice(0, SHOWN_MAX)
  // A summary names versions only; what became of each is in its detail.
  const details = useQueries({ queries: versions.map((version) => packageQuery(shown.name, version)) })
  return (
    <Panel title={`${t('Versions')} (${shown.versions.length})`}>
      <ul>
        {versions.map((version, at) => {
          const own = details[at]?.data
          const status = own?.version === version ? own.status : ''
          return (
            <li key={version} data-version={version} className="flex flex-wrap items-center gap-2 border-b border-line px-3 py-2 text-sm last:border-0">
              <Link
                to="/packages/$name"
                params={{ name: shown.name }}
                search={{ version }}
                aria-current={version === shown.version ? 'true' : undefined}
                className={`font-mono text-accent hover:underline ${version === shown.version ? 'font-bold' : ''}`}
              >
                {version}
              </Link>
              {tagsOf(shown, version).map((tag) => (
                <span key={tag} className="rounded bg-accent-soft px-1.5 font-mono text-xs text-accent">
                  {tag}
                </span>
              ))}
              {version === shown.defaultVersion && <span className="text-xs text-soft">{t('given when none is named')}</span>}
              <span className="ml-auto">{status && <Status state={status} />}</span>
            </li>
          )
        })}
      </ul>
    </Panel>
  )
}
