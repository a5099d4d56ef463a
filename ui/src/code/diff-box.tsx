/** Two texts compared: beside each other, or as one with what changed; the rest is folded and counted. */
import { MergeView, unifiedMergeView } from '@codemirror/merge'
import { EditorView } from '@codemirror/view'
import { useEffect, useRef } from 'react'

import { base, fixed, grammar } from './setup'

export interface DiffProps {
  before: string
  after: string
  label: string
  split: boolean
}

const FOLD = { margin: 3, minSize: 4 }

export default function DiffBox({ before, after, label, split }: DiffProps) {
  const box = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const parent = box.current as HTMLDivElement
    const extensions = [...base(label), grammar('json'), ...fixed]
    const view = split
      ? new MergeView({ a: { doc: before, extensions }, b: { doc: after, extensions }, parent, collapseUnchanged: FOLD })
      : new EditorView({ doc: after, extensions: [extensions, unifiedMergeView({ original: before, mergeControls: false, collapseUnchanged: FOLD })], parent })
    return () => view.destroy()
  }, [before, after, label, split])
  return <div ref={box} data-diff={split ? 'split' : 'inline'} className="max-h-[32rem] overflow-auto rounded-lg bg-sunk" />
}
