/** What an action may change, in words: the server's class of it is shown when pointed at. */
import { type Text, useT } from '@/i18n'

const EFFECTS: Record<string, { text: Text; look: string }> = {
  env_local_read: { text: 'reads its place', look: 'bg-sunk text-soft' },
  env_local_mutation: { text: 'changes its place', look: 'bg-sunk text-text' },
  external_read: { text: 'reads outside', look: 'bg-run-soft text-run' },
  external_write: { text: 'writes outside', look: 'bg-wait-soft text-wait' },
  external_irreversible: { text: 'cannot be undone', look: 'bg-bad-soft text-bad' },
}

export function Effect({ name }: { name: string }) {
  const t = useT()
  const known = EFFECTS[name]
  return (
    <span data-effect={name} title={name} className={`inline-flex h-5 items-center rounded px-1.5 text-xs font-medium whitespace-nowrap ${known?.look ?? 'bg-sunk text-soft'}`}>
      {known ? t(known.text) : name}
    </span>
  )
}
