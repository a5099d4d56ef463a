/** What a task claimed and what its verifier said of it, side by side, the newest first. */
import { type Attempt, failureOf } from '@/api/types'
import { useT } from '@/i18n'
import { Ago } from '@/parts/clock'
import { Json } from '@/parts/json'
import { Status } from '@/parts/status'

interface Pair {
  claim: Attempt
  verdict: Attempt | null
}

interface Verdict {
  verdict: string
  summary?: string
  failure_class?: string
  request_replan?: boolean
  checkpoint?: unknown
}

/** Each piece of work with the verdict that came after it. */
export function claimsOf(attempts: readonly Attempt[]): Pair[] {
  const pairs: Pair[] = []
  for (const attempt of attempts) {
    const last = pairs.at(-1)
    if (attempt.role === 'work') pairs.push({ claim: attempt, verdict: null })
    else if (attempt.role === 'verify' && last) last.verdict = attempt
  }
  return pairs.reverse()
}

export function wasVerified(attempts: readonly Attempt[]): boolean {
  return attempts.some((one) => one.role === 'verify')
}

function verdictOf(attempt: Attempt): Verdict | null {
  const said = attempt.output as Verdict | null
  return said && typeof said.verdict === 'string' ? said : null
}

/** What else a verifier handed in with its verdict: what it went by. Null where it said no more. */
export function evidenceOf(verdict: object): Record<string, unknown> | null {
  const { verdict: _, summary, failure_class, request_replan, checkpoint, ...evidence } = verdict as Verdict & Record<string, unknown>
  return Object.keys(evidence).length > 0 ? evidence : null
}

export function Claims({ attempts }: { attempts: readonly Attempt[] }) {
  const t = useT()
  return (
    <ol>
      {claimsOf(attempts).map(({ claim, verdict }) => (
        <li key={claim.id} data-claim={claim.number} className="mb-4 grid gap-3 sm:grid-cols-2">
          <section className="min-w-0">
            <h3 className="mb-1 flex items-center gap-2 text-xs font-medium text-soft">
              {t('Claim')} #{claim.number} · {claim.workerId}
            </h3>
            <Json value={claim.output ?? failureOf(claim.error)} name={t('Output')} />
          </section>
          <section className="min-w-0">
            <h3 className="mb-1 text-xs font-medium text-soft">{t('Verdict')}</h3>
            {verdict ? <Said attempt={verdict} /> : <Status state="verifying" />}
          </section>
          <Evidence verdict={verdict} />
        </li>
      ))}
    </ol>
  )
}

/** Below both, as wide as they are: what the verdict goes by. */
function Evidence({ verdict }: { verdict: Attempt | null }) {
  const t = useT()
  const found = verdict && verdictOf(verdict)
  const evidence = found && evidenceOf(found)
  if (!evidence) return null
  return (
    <section data-evidence className="min-w-0 sm:col-span-2">
      <Json value={evidence} name={t('Evidence')} />
    </section>
  )
}

function Said({ attempt }: { attempt: Attempt }) {
  const t = useT()
  const found = verdictOf(attempt)
  if (!found) return <Status state={attempt.state} />
  return (
    <div className="text-sm">
      <Status state={found.verdict === 'ask' ? 'waiting' : found.verdict} />
      {found.summary && <p className="mt-2 wrap-anywhere">{found.summary}</p>}
      {found.failure_class && <p className="mt-1 font-mono text-xs text-soft">{found.failure_class}</p>}
      <p className="mt-1 text-xs text-soft">
        {attempt.workerId} · <Ago at={attempt.finishedAt ?? attempt.claimedAt} />
      </p>
      {found.request_replan && <p className="mt-1 text-xs text-wait">{t('It asks for another plan.')}</p>}
    </div>
  )
}
