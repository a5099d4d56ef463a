/** What can be done to a version of a package; each says what it means before it is done. */
import { useState } from 'react'

import { setPackageStatus, setPackageTag, useAct } from '@/api/actions'
import type { PackageDetail } from '@/api/types'
import { type Text, useT } from '@/i18n'
import { Button } from '@/parts/basics'
import { Confirm } from '@/parts/dialog'
import { useCanAct, useMayAct } from '@/shell/health'

import { moveTo } from './versions'

interface Verb {
  id: 'active' | 'deprecated' | 'yanked' | 'latest'
  text: Text
  means: Text
  danger?: boolean
}

const ACTIVATE: Verb = {
  id: 'active',
  text: 'Reactivate',
  means: 'Workers may install it and workflows may name it again.',
}
const DEPRECATE: Verb = {
  id: 'deprecated',
  text: 'Deprecate',
  means: 'It can still be installed and named; whoever looks at it is told to move on.',
}
const YANK: Verb = {
  id: 'yanked',
  text: 'Yank',
  means: 'It is no longer installed anywhere and no new run may name it. Workers that have it keep it, and runs that use it go on.',
  danger: true,
}
const BACK: Verb = {
  id: 'latest',
  text: 'Roll back to this version',
  means: 'The tag latest points here again: whoever names no version gets this one. Nothing is uninstalled.',
}
const FORWARD: Verb = {
  id: 'latest',
  text: 'Make it latest',
  means: 'The tag latest points here: whoever names no version gets this one.',
}

export function verbsOf(shown: PackageDetail): Verb[] {
  const verbs: Verb[] = []
  const move = moveTo(shown, shown.version)
  if (shown.status !== 'yanked' && move !== 'none') verbs.push(move === 'back' ? BACK : FORWARD)
  if (shown.status !== 'active') verbs.push(ACTIVATE)
  if (shown.status === 'active') verbs.push(DEPRECATE)
  if (shown.status !== 'yanked') verbs.push(YANK)
  return verbs
}

export function VersionActions({ shown }: { shown: PackageDetail }) {
  const t = useT()
  const act = useAct()
  const canAct = useCanAct()
  const mayAct = useMayAct()
  const [ask, setAsk] = useState<Verb | null>(null)
  if (!mayAct) return null
  const what = `${shown.name} ${shown.version}`
  const go = (verb: Verb) => {
    setAsk(null)
    const work = verb.id === 'latest' ? setPackageTag(shown.name, 'latest', shown.version) : setPackageStatus(shown.name, shown.version, verb.id)
    void act(work, t('Done: {what}', { what: `${t(verb.text)} · ${what}` }), 'packages', 'package')
  }
  return (
    <>
      {verbsOf(shown).map((verb) => (
        <Button key={verb.id} look={verb.danger ? 'danger' : 'plain'} disabled={!canAct} onClick={() => setAsk(verb)}>
          {t(verb.text)}
        </Button>
      ))}
      {ask && (
        <Confirm title={`${t(ask.text)}: ${what}`} action={t(ask.text)} danger={ask.danger} onClose={() => setAsk(null)} onConfirm={() => go(ask)}>
          {t(ask.means)}
        </Confirm>
      )}
    </>
  )
}
