/** Talks to the server: one place for the address, the token and errors. */
import type { Problem } from './types'

const TOKEN_KEY = 'windlass.token'
const SILENT = 'The server does not answer.'
/** Our own shape first: runs of workflows have another one besides. */
const ACCEPT = 'application/vnd.windlass+json, application/json'

export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly title: string,
    readonly detail: string,
    readonly problems: Problem[] = [],
  ) {
    super(detail || title)
  }
}

/** Whether there is no such thing: the server knows none, or what was asked for cannot be the name of one. */
export function isUnknown(error: unknown): boolean {
  return error instanceof ApiError && (error.status === 404 || error.status === 400)
}

type Listener = () => void
const listeners = new Set<Listener>()

/** What the whole page has to know about the server: does it want a token, is it able to act. */
export interface Health {
  signedOut: boolean
  offline: string
}
let health: Health = { signedOut: false, offline: '' }

export function getHealth(): Health {
  return health
}

export function onHealth(listener: Listener): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

function setHealth(change: Partial<Health>): void {
  const next = { ...health, ...change }
  if (next.signedOut === health.signedOut && next.offline === health.offline) return
  health = next
  listeners.forEach((listener) => listener())
}

export function getToken(): string {
  return sessionStorage.getItem(TOKEN_KEY) ?? ''
}

export function setToken(token: string): void {
  if (token) sessionStorage.setItem(TOKEN_KEY, token)
  else sessionStorage.removeItem(TOKEN_KEY)
  setHealth({ signedOut: !token })
}

const TENANT_KEY = 'windlass.tenant'

/** The tenant an operator of the whole system looks at, in every tab; '' is their own. */
export function getTenant(): string {
  return localStorage.getItem(TENANT_KEY) ?? ''
}

export function setTenant(tenant: string): void {
  if (tenant) localStorage.setItem(TENANT_KEY, tenant)
  else localStorage.removeItem(TENANT_KEY)
}

function tenantHeader(tenant = getTenant()): Record<string, string> {
  return tenant ? { 'Windlass-Tenant': tenant } : {}
}

export function signOut(): void {
  setToken('')
  setTenant('')
}

export function needSignIn(): void {
  setHealth({ signedOut: true })
}

/** An address below the page's base, whatever prefix it is served under. */
export function address(path: string): string {
  return new URL(`api/v1/${path}`, document.baseURI).toString()
}

export interface Send {
  method?: string
  body?: unknown
  yaml?: string
  file?: Blob
  query?: Record<string, string | number | undefined>
  signal?: AbortSignal
  /** Used instead of the kept token. */
  token?: string
  /** Used instead of the tenant that was switched to. */
  tenant?: string
  /** Used instead of our own shape. */
  accept?: string
}

export async function call<T>(path: string, send: Send = {}): Promise<T> {
  const url = new URL(address(path))
  for (const [name, value] of Object.entries(send.query ?? {})) {
    if (value !== undefined && value !== '') url.searchParams.set(name, String(value))
  }
  const headers: Record<string, string> = { Accept: send.accept ?? ACCEPT, ...tenantHeader(send.tenant) }
  const token = send.token ?? getToken()
  if (token) headers.Authorization = `Bearer ${token}`
  let body: string | Blob | undefined
  if (send.file !== undefined) {
    headers['Content-Type'] = 'application/zip'
    body = send.file
  } else if (send.yaml !== undefined) {
    headers['Content-Type'] = 'application/yaml'
    body = send.yaml
  } else if (send.body !== undefined) {
    headers['Content-Type'] = 'application/json'
    body = JSON.stringify(send.body)
  }
  const method = send.method ?? (body === undefined ? 'GET' : 'POST')
  let answer: Response
  try {
    answer = await fetch(url, { method, headers, body, signal: send.signal })
  } catch (error) {
    if (send.signal?.aborted) throw error
    setHealth({ offline: SILENT })
    throw new ApiError(0, 'No answer', SILENT)
  }
  if (!answer.ok) throw await refusal(answer, method)
  // Reads work without a control plane, so only an action that went through clears the banner.
  if (method !== 'GET' || health.offline === SILENT) setHealth({ offline: '' })
  return (await answer.json()) as T
}

/** Ask the server for something small; that it does not answer is then known to the whole page. */
export async function isThere(): Promise<boolean> {
  try {
    await call('info')
    return true
  } catch (error) {
    return error instanceof ApiError && error.status > 0
  }
}

/** Fetch a file with the token. */
export async function fetchFile(path: string, signal?: AbortSignal): Promise<Blob> {
  const token = getToken()
  const headers = { ...tenantHeader(), ...(token ? { Authorization: `Bearer ${token}` } : {}) }
  const answer = await fetch(address(path), { headers, signal })
  if (!answer.ok) throw await refusal(answer, 'GET')
  return answer.blob()
}

/** Fetch a file and hand it to the browser to keep. */
export async function download(path: string, name: string): Promise<void> {
  saveAs(await fetchFile(path), name)
}

export function saveAs(content: Blob, name: string): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(content)
  link.download = name
  link.click()
  URL.revokeObjectURL(link.href)
}

async function refusal(answer: Response, method: string): Promise<ApiError> {
  const text = await answer.text()
  let error = new ApiError(answer.status, answer.statusText, text)
  let passing = answer.status === 503
  try {
    const body = JSON.parse(text) as { title?: string; detail?: string; error?: string; problems?: Problem[] }
    // What is not installed stays away however long one waits: that is no outage.
    passing &&= body.error !== 'not_installed'
    error = new ApiError(answer.status, body.title ?? '', body.detail ?? '', body.problems ?? [])
  } catch {
    // Not one of ours (a proxy, perhaps): the text itself is the best we have.
  }
  if (error.status === 401) setHealth({ signedOut: true })
  if (passing) {
    setHealth({ offline: error.detail })
    probe()
  } else if (method !== 'GET') setHealth({ offline: '' })
  return error
}

const PROBE_MS = 5000
let probing = false

/** Ask now and then whether actions work again; a count that changes nothing needs the same as they do. */
function probe(): void {
  if (probing) return
  probing = true
  setTimeout(() => {
    probing = false
    const body = { action: 'cancel', q: 'status:cancelling', dryRun: true }
    void call('runs/bulk', { body }).catch(() => undefined)
  }, PROBE_MS)
}
