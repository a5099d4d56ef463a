/** The filter as text and as chips; what it cannot read is said before it is sent. */
import { useQuery } from '@tanstack/react-query'
import { useRef, useState } from 'react'

import { flowsQuery } from '@/api/queries'
import { parseFilter, suggestions, without } from '@/filter/grammar'
import { useT } from '@/i18n'
import { Button, FIELD } from '@/parts/basics'
import { Icon } from '@/parts/icons'
import { useKeys } from '@/shell/keys'

interface Props {
  q: string
  problem: string
  onChange: (q: string) => void
}

export function FilterBar({ q, problem, onChange }: Props) {
  const t = useT()
  const input = useRef<HTMLInputElement>(null)
  const [text, setText] = useState(q)
  const flows = useQuery(flowsQuery(''))
  useKeys({ '/': () => input.current?.focus() })
  const typed = parseFilter(text, t)
  const said = text === q ? problem : typed.problem
  const names = flows.data?.items.map((flow) => flow.name) ?? []
  const offered = suggestions(text, input.current?.selectionStart ?? text.length, names)
  const complete = (word: string) => {
    setText(`${text.slice(0, text.length - (text.split(/\s/).at(-1)?.length ?? 0))}${word}`)
    input.current?.focus()
  }
  return (
    <form
      role="search"
      onSubmit={(event) => {
        event.preventDefault()
        onChange(text.trim())
      }}
    >
      <div className="flex gap-2">
        <input
          ref={input}
          type="search"
          aria-label={t('Filter')}
          aria-invalid={said !== ''}
          aria-describedby="filter-problem"
          placeholder="status:failed flow:review-* started:>-2h"
          value={text}
          onChange={(event) => setText(event.target.value)}
          className={`${FIELD} w-full font-mono`}
        />
        <Button type="submit" icon="filter" className="!h-8">
          {t('Filter')}
        </Button>
      </div>
      <div className="mt-1.5 flex empty:hidden flex-wrap items-center gap-1 text-xs">
        {said ? (
          <span id="filter-problem" role="alert" className="text-bad">
            {said}
          </span>
        ) : text !== q && offered.length > 0 ? (
          offered.map((word) => (
            <button
              key={word}
              type="button"
              onClick={() => complete(word)}
              className="rounded border border-dashed border-edge px-1.5 py-0.5 font-mono hover:bg-sunk"
            >
              {word}
            </button>
          ))
        ) : (
          parseFilter(q).words.map((word) => (
            <span key={word.from} className="inline-flex items-center rounded bg-accent-soft px-1.5 py-0.5 font-mono text-accent">
              {word.text}
              <button type="button" aria-label={t('Remove {word}', { word: word.text })} className="ml-1" onClick={() => onChange(without(q, word))}>
                <Icon name="close" size={12} />
              </button>
            </span>
          ))
        )}
      </div>
    </form>
  )
}
