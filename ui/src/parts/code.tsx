/** Code on a page: plain text at first, an editor as soon as it is loaded. */
import { lazy, Suspense, useState } from 'react'

import type { CodeProps } from '@/code/viewer'
import type { DiffProps } from '@/code/diff-box'
import { useT } from '@/i18n'
import { soon } from '@/shell/later'

import { Choices } from './basics'
import { sortedJson } from './diff'

const loadCode = () => import('@/code/viewer')
const loadDiff = () => import('@/code/diff-box')
const CodeBox = lazy(loadCode)
const DiffBox = lazy(loadDiff)
soon(loadCode)
soon(loadDiff)

function Plain({ text, label, className = '' }: { text: string; label: string; className?: string }) {
  return (
    <pre tabIndex={0} aria-label={label} className={`overflow-auto px-3 pt-1 pb-3 font-mono text-xs leading-5 ${className}`}>
      {text}
    </pre>
  )
}

export function Code(props: CodeProps) {
  const { text, label, className, onChange } = props
  // What is typed into something that is about to be replaced would be lost: writing begins with the editor.
  const waiting = onChange ? <div aria-busy="true" className={className} /> : <Plain text={text} label={label} className={className} />
  return (
    <Suspense fallback={waiting}>
      <CodeBox {...props} />
    </Suspense>
  )
}

/** Two values as JSON with sorted keys, compared; split where there is room and somebody wants it. */
export function ValueDiff({ before, after, label }: { before: unknown; after: unknown; label: string }) {
  const t = useT()
  const [way, setWay] = useState<'inline' | 'split'>('inline')
  const props: DiffProps = { before: sortedJson(before), after: sortedJson(after), label, split: way === 'split' }
  if (props.before === props.after) return <p className="p-2 text-sm text-soft">{t('No difference')}</p>
  return (
    <>
      <div className="mb-2 hidden md:block">
        <Choices
          label={t('How to compare')}
          value={way}
          onChange={setWay}
          choices={[
            { id: 'inline', text: t('Inline') },
            { id: 'split', text: t('Split') },
          ]}
        />
      </div>
      <Suspense fallback={<Plain text={props.after} label={label} />}>
        <DiffBox {...props} />
      </Suspense>
    </>
  )
}
