/** Reasons in English. */
import { EXEC_TYPES, join, type Said, type Words } from './words'

const ended = (word: string) => (s: Said) => {
  if (s.v.node) return `${word} at ${s.task}: ${s.v.message ?? ''}`
  if (s.v.message) return `${word}: ${s.v.message}`
  return s.v.failures ? `${word}, with ${s.v.failures} failed ${s.v.failures === 1 ? 'task' : 'tasks'} on the way` : word
}

const DOES: Record<string, string> = { work: 'runs on', verify: 'is verified by', plan: 'is planned by' }
const QUEUED: Record<string, string> = { work: 'is queued', verify: 'waits for a verdict', plan: 'waits for its planner' }

const lease = (s: Said, text: string) => `${s.task} ${DOES[s.v.role ?? 'work']} ${s.v.worker} (${join(', ', `attempt ${s.v.attempt}`, text, s.v.stopping && 'asked to stop')})`
const queue = (s: Said, text: string) => `${s.task} ${QUEUED[s.v.role ?? 'work']} for ${s.passed}: ${text}`
const workers = (s: Said) => (s.v.workers === 1 ? 'the one' : `all ${s.v.workers ?? 0}`)
const are = (s: Said) => (s.v.workers === 1 ? 'worker' : 'workers')
const busy = (s: Said) => (s.v.workers === 1 ? 'is busy' : 'are busy')
const more = (s: Said) => (s.v.until ? ` for ${s.left} more` : '')
const ahead = (s: Said) => `${s.v.ahead ?? 0} ahead of it`
const waits = (s: Said, text: string) => `${s.v.node ? `${s.task} waits` : 'Waits to begin'}: ${text}`
const next = (s: Said) => `next in ${s.left}`

const quota = (s: Said) =>
  `quota of ${s.v.project ? `project ${s.v.project}` : `tenant ${s.v.tenant}`}: ${s.v.used} of ${s.v.most || 'any'} ${s.v.unit} in use${s.v.wanted ? `, it takes ${s.v.wanted}` : ''}`
const budget = (s: Said) => `${s.v.used} of ${s.v.most} ${s.v.unit}`

const making = (s: Said) => (s.v.env ? `${s.task} waits for env "${s.v.env}": its ${s.v.kind} is being made for ${s.passed}${s.v.message ? `; ${s.v.message}` : ''}` : `${s.task} waits for its environment`)
const pod = (s: Said, text: string) => (s.v.node ? `${s.task} is pod ${s.v.pod} (${join(', ', `attempt ${s.v.attempt}`, s.v.stopping && 'asked to stop')}), which ${text}` : text)

function advice(kind: string): string {
  if (kind === 'container') return 'install podman or Docker and start the server with --env-docker, or run `windlass env-host --kinds container` where there is one'
  if (kind === 'browser') return 'install Chromium and start the server with --env-browser, or run `windlass env-host --kinds browser` where there is one'
  if (kind === 'noop') return 'start the server with --env-noop'
  return 'this release has no driver for it'
}

export const en: Words = {
  'run.succeeded': ended('Succeeded'),
  'run.failed': ended('Failed'),
  'run.cancelled': ended('Cancelled'),
  'run.beginning': () => 'Between two steps; it begins with the next commit',
  'run.between': () => 'Between two steps; it moves on with the next commit',
  'run.unreadable': (s) => `This program cannot read the run’s definition: ${s.v.message}`,
  'lease.held': (s) => lease(s, `lease for ${s.left} more`),
  'lease.expired': (s) => lease(s, 'lease expired, being taken back'),
  'queue.no_worker': (s) =>
    queue(
      s,
      join(
        '; ',
        `no live ${s.v.transport} worker serves "${s.v.service}"`,
        s.v.otherWorker && `${s.v.otherWorker} serves it by ${s.v.otherTransport}: write exec_type: ${EXEC_TYPES[s.v.otherTransport ?? ''] ?? ''}, or start it with --transport ${s.v.transport}`,
        !!s.v.failsAfterS && `it fails after ${s.failsAfter} without one`,
      ),
    ),
  'queue.busy': (s) => queue(s, `${workers(s)} ${s.v.transport} ${are(s)} for "${s.v.service}" ${busy(s)}`),
  'queue.owner_busy': (s) => queue(s, `it belongs to worker ${s.v.worker}, which is busy`),
  'queue.owner_away': (s) => queue(s, `it belongs to worker ${s.v.worker}, which is not on the link; others may have it when it is given up`),
  'queue.package_busy': (s) => queue(s, `${workers(s)} ${are(s)} with ${s.v.package} ${busy(s)}`),
  'queue.package_missing': (s) =>
    queue(
      s,
      join(
        '; ',
        `none of ${s.v.workers} ${are(s)} on the link has ${s.v.package}`,
        s.v.installWorker && (s.v.installError ? `worker ${s.v.installWorker} could not install it: ${s.v.installError}` : `worker ${s.v.installWorker} was told ${s.installing} ago to install it`),
      ),
    ),
  'queue.no_link': (s) => queue(s, `no worker on the link has ${s.v.package}; start one with \`windlass worker packages --transport link\``),
  'queue.pods_out': (s) => queue(s, 'as many pods are out as may be; see --kube-pods'),
  'queue.no_launcher': (s) => queue(s, 'no server launches pods; start one with --kube-url, --kubeconfig or --kube-in-cluster'),
  'queue.no_server': (s) => queue(s, 'no control plane is running'),
  'queue.slots_busy': (s) => queue(s, 'all slots for it are busy'),
  'queue.scripts_off': (s) => queue(s, 'it is a script, and scripts are off; start the server with --allow-scripts'),
  'queue.no_function': (s) => queue(s, join('; ', `no server has a local function "${s.v.service}"`, !!s.v.failsAfterS && `it fails after ${s.failsAfter} without one`)),
  sleep: (s) => `${s.task} sleeps${more(s)}`,
  checkpoint: (s) => `${s.task} waits for a person to answer${s.v.until ? `, expires in ${s.left}` : ''}`,
  signal: (s) => `${s.task} waits for signal "${s.v.key}"${more(s)}`,
  'retry.pause': (s) => `${s.task} waits${more(s)} before attempt ${s.v.attempt}${s.v.message ? ` after: ${s.v.message}` : ''}`,
  branches: (s) => `${s.task} waits for other branches to finish`,
  held_back: (s) => `${s.task} is held back with the whole run until a question is answered`,
  'verify.look': (s) => `${s.task} waits for a last look at its env, ${s.left} at most, to be judged`,
  'verify.pause': (s) => `${s.task} waits ${s.left} before its verdict is asked for again`,
  'task.state': (s) => `${s.task} is ${s.v.state}`,
  'limit.full': (s) => waits(s, `limit ${s.v.key}: ${s.v.used} of ${s.v.most} in use, ${ahead(s)}`),
  'limit.rate': (s) => waits(s, `rate ${s.v.key}: ${next(s)}, ${ahead(s)}`),
  'limit.room': (s) => waits(s, `limit ${s.v.key}: there is room, ${ahead(s)}`),
  'limit.pushed_back': (s) => waits(s, `${s.v.key} has pushed back: ${next(s)}, ${ahead(s)}`),
  'breaker.open': (s) => waits(s, `breaker of ${s.v.key} is open after ${s.v.failures} ${s.v.failures === 1 ? 'failure' : 'failures'}: next try in ${s.left}, ${ahead(s)}`),
  'breaker.trial': (s) => waits(s, `breaker of ${s.v.key} is half-open: ${s.v.used} on trial, ${ahead(s)}`),
  'retries.out': (s) => waits(s, `retry budget of tenant ${s.v.tenant}: ${s.v.used} of ${s.v.most} retries are out, ${ahead(s)}`),
  'retries.spent': (s) => waits(s, `retry budget of tenant ${s.v.tenant} is spent: ${next(s)}, ${ahead(s)}`),
  'budget.reserved': (s) => waits(s, `budget of the ${s.v.kind}: ${budget(s)} spent, ${s.v.reserved} reserved, ${ahead(s)}`),
  'budget.spent': (s) => waits(s, `budget of the ${s.v.kind} is spent: ${budget(s)}, ${ahead(s)}; answer its question in the inbox, or raise it`),
  'quota.full': (s) => waits(s, `${quota(s)}, ${ahead(s)}`),
  'quota.too_much': (s) => waits(s, `${quota(s)}, which is more than there may ever be: raise the quota or ask for less`),
  'env.unknown': (s) => `${s.task} waits for env "${s.v.env}", which nobody has made; make it with \`windlass env create ${s.v.env} --kind container\``,
  'env.closed': (s) => `${s.task} waits for env "${s.v.env}", which is ${s.v.state}`,
  'env.queue': (s) => `${s.task} waits for env "${s.v.env}" (${s.v.used} of ${s.v.most} leased, ${s.v.ahead ?? 0} ahead)`,
  'env.making': making,
  'env.no_host': (s) => `${making(s)}; nobody who has such a runtime has taken it: ${advice(s.v.kind ?? '')}`,
  'env.no_runtime': (s) => `Nothing here can make a ${s.v.kind}: ${advice(s.v.kind ?? '')}`,
  'pod.running': (s) =>
    `${s.task} ${join(', ', join(': ', `runs in pod ${s.v.pod} (${join(', ', `attempt ${s.v.attempt}`, s.v.stopping && 'asked to stop')})`, join(' ', s.percent, s.v.message)), !!s.v.heardAt && `heard of ${s.heard} ago`)}`,
  'pod.pending': (s) => pod(s, 'has not begun'),
  'pod.unmade': (s) => pod(s, `is not made yet: ${s.v.message ?? ''}`),
  'pod.made': (s) => pod(s, 'was just made'),
  'pod.unscheduled': (s) => pod(s, join(': ', 'waits for a node', s.v.message)),
  'pod.container': (s) => pod(s, `waits on node ${s.v.place}: ${s.v.cause}${s.v.message ? ` (${s.v.message})` : ''}`),
  'pod.starting': (s) => pod(s, `waits to begin on node ${s.v.place}`),
}
