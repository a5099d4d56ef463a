/** Answers to a question of a plan: one of its options, or words where they are asked for. */
import { useState } from 'react'

import type { Checkpoint } from '@/api/types'
import { useT } from '@/i18n'
import { Button, Field, TextArea } from '@/parts/basics'

interface Option {
  id: string
  label?: string
  kind?: string
  description?: string
}

/** The options of a question, as far as they read as such. */
export function optionsOf(item: Checkpoint): Option[] {
  const given = item.options as unknown
  if (!Array.isArray(given)) return []
  return given.filter((one): one is Option => typeof one === 'object' && one !== null && typeof (one as Option).id === 'string')
}

/** Whether a question takes more than a yes or a no. */
export function takesMore(item: Checkpoint): boolean {
  return item.kind === 'question' || optionsOf(item).length > 0
}

interface AnswersProps {
  item: Checkpoint
  disabled: boolean
  onAnswer: (value: unknown) => void
}

export function Answers({ item, disabled, onAnswer }: AnswersProps) {
  const t = useT()
  const [words, setWords] = useState('')
  const options = optionsOf(item)
  const choices = options.filter((option) => option.kind !== 'freeform')
  const free = item.kind === 'question' && choices.length < Math.max(1, options.length)
  return (
    <div>
      <ul className="mb-4 grid gap-2">
        {choices.map((option, at) => (
          <li key={option.id}>
            <Button look={at === 0 ? 'main' : 'plain'} disabled={disabled} onClick={() => onAnswer(option.id)}>
              {option.label || option.id}
            </Button>
            {option.description && <span className="ml-2 text-sm text-soft">{option.description}</span>}
          </li>
        ))}
      </ul>
      {free && (
        <Field label={t('In your own words')}>
          {(id) => (
            <div className="grid gap-2">
              <TextArea id={id} value={words} onChange={(event) => setWords(event.target.value)} />
              <div>
                <Button disabled={disabled || !words.trim()} onClick={() => onAnswer({ mode: 'freeform', freeform_input: words })}>
                  {t('Send')}
                </Button>
              </div>
            </div>
          )}
        </Field>
      )}
    </div>
  )
}
