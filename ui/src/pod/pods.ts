/** What can be said of pods: what each is at, and how many of each namespace are how far. */
import type { Pod } from '@/api/types'
import type { Text } from '@/i18n'
import { sayReason } from '@/why/say'

export const POD_STATES = ['claimed', 'running', 'succeeded', 'failed', 'timed_out', 'lost', 'cancelled'] as const

const CLASSES: Record<string, Text> = {
  'pod.image': 'Image not available',
  'pod.config': 'Cannot be set up',
  'pod.oom': 'Out of memory',
  'pod.eviction': 'Evicted',
  'pod.capacity': 'No room for it',
  'pod.node_lost': 'Node lost',
  'pod.deleted': 'Deleted by a person',
  'pod.deadline': 'Took too long',
  'pod.error': 'Program failed',
}

/** A class of failures in words; null for one that programs made up themselves. */
export function classText(failureClass: string): Text | null {
  return CLASSES[failureClass] ?? null
}

/** The state to show: one that was asked to stop and has not is neither here nor there. */
export function shownState(pod: Pick<Pod, 'state' | 'stopping'>): string {
  if (pod.stopping) return 'cancelling'
  return pod.state === 'claimed' ? 'waiting' : pod.state
}

/** The server names the pod first, which stands beside it here. */
export function withoutName(pod: Pick<Pod, 'namespace' | 'pod'>, text: string): string {
  const name = `pod ${pod.namespace}/${pod.pod}: `
  return text.startsWith(name) ? text.slice(name.length) : text
}

export interface Says {
  kind: 'failed' | 'waits' | 'progress' | 'none'
  text: string
}

/** The one thing worth knowing of a pod now: why it failed, what it waits for, or what it is at. */
export function saysOf(pod: Pick<Pod, 'namespace' | 'pod' | 'reason' | 'failureClass' | 'waits' | 'waitsFor' | 'progress'>): Says {
  if (pod.failureClass || pod.reason) return { kind: 'failed', text: withoutName(pod, pod.reason) }
  if (pod.waits) return { kind: 'waits', text: sayReason(pod.waits, Date.now()) ?? pod.waitsFor }
  if (pod.progress?.message) return { kind: 'progress', text: pod.progress.message }
  return { kind: 'none', text: '' }
}

/** How far its program says it is, in whole percent; null if it has not said. */
export function percentOf(pod: Pick<Pod, 'progress'>): number | null {
  const share = pod.progress?.share
  return typeof share === 'number' ? Math.round(Math.min(1, Math.max(0, share)) * 100) : null
}

export interface Namespace {
  name: string
  /** The states shown of its pods, those that need a look first. */
  states: string[]
}

const ORDER = ['failed', 'timed_out', 'lost', 'waiting', 'cancelling', 'running', 'succeeded', 'cancelled']

/** Pods by namespace, by name; a square each. */
export function byNamespace(pods: readonly Pick<Pod, 'namespace' | 'state' | 'stopping'>[]): Namespace[] {
  const found = new Map<string, string[]>()
  for (const pod of pods) found.set(pod.namespace, [...(found.get(pod.namespace) ?? []), shownState(pod)])
  const rank = (state: string) => ORDER.indexOf(state)
  return [...found]
    .sort(([a], [b]) => a.localeCompare(b))
    .map(([name, states]) => ({ name, states: states.sort((a, b) => rank(a) - rank(b)) }))
}

/** How many are in each state, in the order of the squares. */
export function countStates(states: readonly string[]): [string, number][] {
  const counts = new Map<string, number>()
  for (const state of states) counts.set(state, (counts.get(state) ?? 0) + 1)
  return [...counts]
}
