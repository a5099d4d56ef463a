/** What a worker last said of itself, read without trusting it. */
import type { Worker } from '@/api/types'

export interface Gauge {
  name: 'cpu' | 'memory' | 'disk' | 'work'
  /** 0 to 100. */
  percent: number
  text: string
}

export interface WorkerHealth {
  healthy: boolean | null
  gauges: Gauge[]
  held: string[]
  uptimeS: number | null
  rssBytes: number | null
}

function number(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) ? value : null
}

export function healthOf(worker: Worker): WorkerHealth {
  const beat = (worker.heartbeat ?? {}) as Record<string, unknown>
  const metrics = (typeof beat.metrics === 'object' && beat.metrics !== null ? beat.metrics : {}) as Record<string, unknown>
  const gauges: Gauge[] = []
  for (const [name, key] of [['cpu', 'cpuPct'], ['memory', 'memPct'], ['disk', 'diskPct']] as const) {
    const percent = number(metrics[key])
    if (percent !== null) gauges.push({ name, percent: clamp(percent), text: `${Math.round(percent)} %` })
  }
  const inflight = number(metrics.inflight) ?? worker.held
  if (worker.capacity > 0) {
    gauges.push({ name: 'work', percent: clamp((inflight / worker.capacity) * 100), text: `${inflight} / ${worker.capacity}` })
  }
  return {
    healthy: typeof beat.healthy === 'boolean' ? beat.healthy : null,
    gauges,
    held: Array.isArray(metrics.held) ? metrics.held.filter((one) => typeof one === 'string') : [],
    uptimeS: number(metrics.uptimeS),
    rssBytes: number(metrics.rssBytes),
  }
}

function clamp(percent: number): number {
  return Math.min(100, Math.max(0, percent))
}

const ORDER = ['late', 'draining', 'registered', 'online', 'offline']

/** Workers that need somebody first. */
export function inOrder(workers: readonly Worker[]): Worker[] {
  const place = (worker: Worker) => (ORDER.indexOf(worker.state) + ORDER.length + 1) % (ORDER.length + 1)
  return [...workers].sort((a, b) => place(a) - place(b) || a.id.localeCompare(b.id))
}

export interface Wanted {
  q: string
  state: string
  way: string
  package: string
}

/** The workers a filter leaves; text is looked for in ids, machines, services and packages. */
export function matching(workers: readonly Worker[], wanted: Wanted): Worker[] {
  const q = wanted.q.trim().toLowerCase()
  return workers.filter((worker) => {
    const packages = worker.packages ?? []
    const words = [worker.id, worker.hostname ?? '', ...worker.services, ...packages.map((one) => `${one.name}@${one.version}`)]
    return (
      (!wanted.state || worker.state === wanted.state) &&
      (!wanted.way || worker.transport === wanted.way) &&
      (!wanted.package || packages.some((one) => one.name === wanted.package)) &&
      (!q || words.some((word) => word.toLowerCase().includes(q)))
    )
  })
}
