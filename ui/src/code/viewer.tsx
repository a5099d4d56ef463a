/** Code to be read or written. */
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands'
import { search, searchKeymap } from '@codemirror/search'
import { Compartment, type Extension, RangeSetBuilder, StateEffect, StateField } from '@codemirror/state'
import { Decoration, type DecorationSet, EditorView, keymap } from '@codemirror/view'
import { useEffect, useRef } from 'react'

import { base, fixed, grammar, type Language, numbered } from './setup'

export interface CodeProps {
  text: string
  language: Language
  label: string
  /** The classes of the box, which say how high it is. */
  className?: string
  /** Numbers of lines with something wrong. */
  bad?: readonly number[]
  onChange?: (text: string) => void
}

/** The grammar can change while somebody writes, without a new editor. */
const grammars = new Compartment()

const setBad = StateEffect.define<readonly number[]>()
const badLines = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(value, transaction) {
    const told = transaction.effects.find((effect) => effect.is(setBad))
    if (!told) return value.map(transaction.changes)
    const builder = new RangeSetBuilder<Decoration>()
    const lines = [...new Set(told.value as readonly number[])].sort((a, b) => a - b)
    for (const line of lines.filter((n) => n >= 1 && n <= transaction.state.doc.lines)) {
      const { from } = transaction.state.doc.line(line)
      builder.add(from, from, Decoration.line({ class: 'cm-bad-line' }))
    }
    return builder.finish()
  },
  provide: (field) => EditorView.decorations.from(field),
})

export default function CodeBox({ text, language, label, className = '', bad, onChange }: CodeProps) {
  const box = useRef<HTMLDivElement>(null)
  const view = useRef<EditorView | null>(null)
  const told = useRef(onChange)
  told.current = onChange
  const writes = onChange !== undefined
  useEffect(() => {
    const own: Extension[] = writes
      ? [history(), keymap.of([...historyKeymap, ...defaultKeymap]), EditorView.updateListener.of((update) => update.docChanged && told.current?.(update.state.doc.toString()))]
      : fixed
    const extensions = [...base(label), grammars.of(grammar(language)), ...numbered, search({ top: true }), keymap.of(searchKeymap), badLines, own]
    view.current = new EditorView({ doc: text, extensions, parent: box.current as HTMLDivElement })
    return () => view.current?.destroy()
    // What it shows is put in below; a new editor would lose the place.
  }, [label, writes])
  useEffect(() => view.current?.dispatch({ effects: grammars.reconfigure(grammar(language)) }), [language])
  useEffect(() => {
    const { current } = view
    if (current && current.state.doc.toString() !== text) current.dispatch({ changes: { from: 0, to: current.state.doc.length, insert: text } })
  }, [text])
  useEffect(() => view.current?.dispatch({ effects: setBad.of(bad ?? []) }), [bad])
  return <div ref={box} className={`overflow-auto [&>.cm-editor]:max-h-[inherit] ${className}`} />
}
