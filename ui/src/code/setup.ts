/** What all editors here share: the look of the page, its words, and a style element the policy allows. */
import { defaultHighlightStyle, foldGutter, HighlightStyle, syntaxHighlighting } from '@codemirror/language'
import { json } from '@codemirror/lang-json'
import { yaml } from '@codemirror/lang-yaml'
import { EditorState, type Extension } from '@codemirror/state'
import { EditorView, lineNumbers } from '@codemirror/view'
import { tags } from '@lezer/highlight'

import { getPrefs } from '@/prefs'

export type Language = 'json' | 'yaml' | 'text'

const look = EditorView.theme({
  '&': { color: 'var(--text)', backgroundColor: 'var(--sunk)', fontSize: '12px' },
  '&.cm-focused': { outline: '2px solid var(--accent)', outlineOffset: '-2px' },
  '.cm-scroller': { fontFamily: 'var(--font-mono, monospace)', lineHeight: '20px', overflow: 'auto' },
  '.cm-gutters': { backgroundColor: 'var(--sunk)', color: 'var(--soft)', border: 'none' },
  '.cm-cursor': { borderLeftColor: 'var(--text)' },
  '.cm-activeLine, .cm-activeLineGutter': { backgroundColor: 'transparent' },
  '.cm-selectionBackground, &.cm-focused .cm-selectionBackground': { backgroundColor: 'var(--accent-soft) !important' },
  '.cm-foldPlaceholder': { backgroundColor: 'var(--idle-soft)', color: 'var(--soft)', border: 'none', padding: '0 4px' },
  '.cm-bad-line': { backgroundColor: 'var(--bad-soft)' },
  '.cm-collapsedLines:before, .cm-collapsedLines:after': { content: '"⋯"' },
  '.cm-collapsedLines': { background: 'var(--idle-soft)', color: 'var(--soft)', padding: '2px 12px' },
  '.cm-changedLine, .cm-insertedLine, .cm-merge-b .cm-changedLine': { backgroundColor: 'var(--ok-soft) !important' },
  '.cm-deletedChunk, .cm-deletedLine, .cm-merge-a .cm-changedLine': { backgroundColor: 'var(--bad-soft) !important' },
  '.cm-changedText': { background: 'none !important', textDecoration: 'underline', textUnderlineOffset: '3px' },
  '.cm-deletedChunk .cm-deletedText': { background: 'none !important', textDecoration: 'line-through' },
})

/** Colours of ours, in both themes: keys stand out, the rest is told by its own shape. */
const colours = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: 'var(--accent)' },
  { tag: tags.string, color: 'var(--ok)' },
  { tag: [tags.number, tags.bool, tags.null], color: 'var(--verify)' },
  { tag: [tags.comment, tags.punctuation, tags.separator], color: 'var(--soft)' },
  { tag: tags.invalid, color: 'var(--bad)' },
])

const CHINESE = { '$ unchanged lines': '$ 行未更改', 'Fold line': '折叠', 'Unfold line': '展开', 'folded code': '已折叠的内容', unfold: '展开' }

/** The policy of the page lets in only style elements that carry its nonce. */
function nonce(): string {
  return document.querySelector<HTMLMetaElement>('meta[name=style-nonce]')?.content ?? ''
}

export function grammar(language: Language): Extension {
  return language === 'json' ? json() : language === 'yaml' ? yaml() : []
}

export function base(label: string): Extension[] {
  return [
    EditorView.cspNonce.of(nonce()),
    look,
    syntaxHighlighting(colours),
    syntaxHighlighting(defaultHighlightStyle, { fallback: true }),
    EditorView.contentAttributes.of({ 'aria-label': label }),
    getPrefs().language === 'zh' ? EditorState.phrases.of(CHINESE) : [],
  ]
}

export const numbered: Extension[] = [lineNumbers(), foldGutter()]

/** To be read only, though the keyboard reaches it to scroll and to copy. */
export const fixed: Extension[] = [EditorState.readOnly.of(true), EditorView.editable.of(false), EditorView.contentAttributes.of({ tabindex: '0', role: 'textbox', 'aria-readonly': 'true', 'aria-multiline': 'true' })]
