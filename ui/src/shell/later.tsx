/**
 * Pages whose code comes when it is needed. A server may stop before that: what every page needs is
 * fetched as soon as the browser has nothing else to do, and what could not be is said on a page of ours.
 */
import { lazyRouteComponent, type RouteComponent } from '@tanstack/react-router'
import { useState } from 'react'

import { isThere } from '@/api/client'
import { useT } from '@/i18n'
import { Button } from '@/parts/basics'
import { Empty } from '@/parts/feedback'

type Loads = () => Promise<unknown>
const REST_MS = 1500
const waiting: Loads[] = []

/** Fetch this too once the page is quiet; the module loader keeps what it has. */
export function soon(load: Loads): void {
  waiting.push(load)
}

export function fetchLater(): void {
  setTimeout(() => void fetchAll(), REST_MS)
}

async function fetchAll(): Promise<void> {
  // What was fetched may name more.
  for (let load = waiting.shift(); load; load = waiting.shift()) await load().catch(() => undefined)
}

/** A page by its name in its module. */
export function later(load: () => Promise<object>, name: string): RouteComponent {
  soon(load)
  const found = () => load().catch(() => ({ [name]: Unreachable })) as Promise<Record<string, React.ComponentType>>
  return lazyRouteComponent(found, name)
}

function Unreachable() {
  const t = useT()
  const [busy, setBusy] = useState(false)
  const again = async () => {
    setBusy(true)
    // Loading anew without a server would end at the browser's own page.
    if (await isThere()) location.reload()
    setBusy(false)
  }
  return (
    <Empty title={t('This page could not be loaded: the server does not answer.')}>
      <Button disabled={busy} onClick={() => void again()}>
        {t('Try again')}
      </Button>
    </Empty>
  )
}
