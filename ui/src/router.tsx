/** Every place of the UI. What a page shows is in its address, so any view can be sent to somebody. */
import { createRootRoute, createRoute, createRouter } from '@tanstack/react-router'

import { InboxPage } from '@/pages/inbox'
import { OverviewPage } from '@/pages/overview'
import { RunsPage } from '@/pages/runs'
import { Shell } from '@/shell/shell'
import { later } from '@/shell/later'
import { Lost } from '@/shell/lost'

type Search = Record<string, unknown>
const text = (value: unknown): string | undefined =>
  typeof value === 'string' && value ? value : typeof value === 'number' ? String(value) : undefined
const number = (value: unknown): number | undefined => {
  const found = Number(value)
  return value !== undefined && Number.isFinite(found) ? found : undefined
}

const root = createRootRoute({ component: Shell, notFoundComponent: () => <Lost /> })

const overview = createRoute({
  getParentRoute: () => root,
  path: '/',
  validateSearch: (search: Search): { window?: string } => ({ window: text(search.window) }),
  component: OverviewPage,
})
const runs = createRoute({
  getParentRoute: () => root,
  path: '/runs',
  validateSearch: (search: Search): { q?: string; columns?: string; sort?: string; job?: string } => ({
    q: text(search.q),
    columns: text(search.columns),
    sort: text(search.sort),
    job: text(search.job),
  }),
  component: RunsPage,
})
const run = createRoute({
  getParentRoute: () => root,
  path: '/runs/$id',
  validateSearch: (search: Search): { view?: string; task?: string; tab?: string; lanes?: string; attempt?: number; open?: string; find?: string; rev?: number } => ({
    view: text(search.view),
    task: text(search.task),
    tab: text(search.tab),
    lanes: text(search.lanes),
    attempt: number(search.attempt),
    open: text(search.open),
    find: text(search.find),
    rev: number(search.rev),
  }),
  component: later(() => import('@/pages/run'), 'RunPage'),
})
const inbox = createRoute({
  getParentRoute: () => root,
  path: '/inbox',
  validateSearch: (search: Search): { state?: string; id?: string } => ({ state: text(search.state), id: text(search.id) }),
  component: InboxPage,
})
const flows = createRoute({
  getParentRoute: () => root,
  path: '/flows',
  validateSearch: (search: Search): { q?: string } => ({ q: text(search.q) }),
  component: later(() => import('@/pages/flows'), 'FlowsPage'),
})
const flow = createRoute({
  getParentRoute: () => root,
  path: '/flows/$name',
  validateSearch: (search: Search): { version?: number; against?: number; tab?: string } => ({
    version: number(search.version),
    against: number(search.against),
    tab: text(search.tab),
  }),
  component: later(() => import('@/pages/flow'), 'FlowPage'),
})
const workers = createRoute({
  getParentRoute: () => root,
  path: '/workers',
  validateSearch: (search: Search): { q?: string; state?: string; way?: string; package?: string; id?: string } => ({
    q: text(search.q),
    state: text(search.state),
    way: text(search.way),
    package: text(search.package),
    id: text(search.id),
  }),
  component: later(() => import('@/pages/workers'), 'WorkersPage'),
})
const packages = createRoute({
  getParentRoute: () => root,
  path: '/packages',
  validateSearch: (search: Search): { q?: string } => ({ q: text(search.q) }),
  component: later(() => import('@/pages/packages'), 'PackagesPage'),
})
const packageOne = createRoute({
  getParentRoute: () => root,
  path: '/packages/$name',
  validateSearch: (search: Search): { version?: string } => ({ version: text(search.version) }),
  component: later(() => import('@/pages/package'), 'PackagePage'),
})
const deadLetters = createRoute({
  getParentRoute: () => root,
  path: '/dead-letters',
  validateSearch: (search: Search): { class?: string; flow?: string; id?: string } => ({
    class: text(search.class),
    flow: text(search.flow),
    id: text(search.id),
  }),
  component: later(() => import('@/pages/dead-letters'), 'DeadLettersPage'),
})
const environments = createRoute({
  getParentRoute: () => root,
  path: '/environments',
  validateSearch: (search: Search): { resource?: string; state?: string; run?: string; id?: string } => ({
    resource: text(search.resource),
    state: text(search.state),
    run: text(search.run),
    id: text(search.id),
  }),
  component: later(() => import('@/pages/environments'), 'EnvironmentsPage'),
})
const pods = createRoute({
  getParentRoute: () => root,
  path: '/pods',
  validateSearch: (search: Search): { q?: string; namespace?: string; state?: string; id?: string } => ({
    q: text(search.q),
    namespace: text(search.namespace),
    state: text(search.state),
    id: text(search.id),
  }),
  component: later(() => import('@/pages/pods'), 'PodsPage'),
})
const limits = createRoute({
  getParentRoute: () => root,
  path: '/limits',
  validateSearch: (search: Search): { q?: string } => ({ q: text(search.q) }),
  component: later(() => import('@/pages/limits'), 'LimitsPage'),
})
const settings = createRoute({
  getParentRoute: () => root,
  path: '/settings',
  validateSearch: (search: Search): { tab?: string } => ({ tab: text(search.tab) }),
  component: later(() => import('@/pages/settings'), 'SettingsPage'),
})

export const router = createRouter({
  routeTree: root.addChildren([overview, runs, run, inbox, flows, flow, workers, packages, packageOne, environments, pods, limits, deadLetters, settings]),
  basepath: new URL(document.baseURI).pathname.replace(/\/$/, '') || '/',
  defaultPreload: 'intent',
})

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router
  }
}
