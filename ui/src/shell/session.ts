/** A session of somebody who signed in by name: renewed while the tab is open, ended with it. */
import { call, getToken, setToken } from '@/api/client'

const RENEW_KEY = 'windlass.renew'
/** Renewed well before it ends, so that one failed try is no harm. */
const SHARE = 0.6

export interface Session {
  accessToken: string
  expiresIn: number
}

export async function signIn(username: string, password: string): Promise<void> {
  take(await call<Session>('auth/login', { body: { username, password }, token: '' }))
}

export function takeToken(token: string): void {
  sessionStorage.removeItem(RENEW_KEY)
  setToken(token)
  window.windlass.signedIn()
}

function take(session: Session): void {
  setToken(session.accessToken)
  sessionStorage.setItem(RENEW_KEY, String(renewAt(session, Date.now())))
  window.windlass.signedIn()
  keepSession()
}

export function renewAt(session: Session, now: number): number {
  return now + Math.max(10, session.expiresIn * SHARE) * 1000
}

let timer: ReturnType<typeof setTimeout> | undefined

/** Renew the session when it is due; a token that was pasted in needs nothing. */
export function keepSession(): void {
  clearTimeout(timer)
  const due = Number(sessionStorage.getItem(RENEW_KEY))
  if (!due || !getToken()) return
  timer = setTimeout(() => void renew(), Math.max(0, due - Date.now()))
}

async function renew(): Promise<void> {
  try {
    const session = await call<Session>('auth/refresh', { method: 'POST' })
    setToken(session.accessToken)
    sessionStorage.setItem(RENEW_KEY, String(renewAt(session, Date.now())))
    window.windlass.renewed()
    keepSession()
  } catch {
    // Refused: the page asks to sign in again. Not answered: there is time for another try.
    timer = setTimeout(keepSession, 15_000)
  }
}
