/** Buttons, fields, panels: the few shapes every page is made of. */
import { type ButtonHTMLAttributes, type InputHTMLAttributes, type ReactNode, type Ref, type TextareaHTMLAttributes, useId } from 'react'

type Look = 'plain' | 'main' | 'danger' | 'quiet'

const LOOKS: Record<Look, string> = {
  plain: 'border-line bg-panel hover:bg-sunk',
  main: 'border-accent bg-accent text-on-accent hover:opacity-90',
  danger: 'border-bad text-bad bg-panel hover:bg-bad-soft',
  quiet: 'border-transparent hover:bg-sunk',
}

interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  look?: Look
  ref?: Ref<HTMLButtonElement>
}

export function Button({ look = 'plain', className = '', ...rest }: ButtonProps) {
  const shape = 'inline-flex min-h-8 items-center gap-1.5 rounded border px-2.5 py-1 text-sm font-medium'
  return (
    <button
      type="button"
      className={`${shape} whitespace-nowrap disabled:opacity-50 ${LOOKS[look]} ${className}`}
      {...rest}
    />
  )
}

export const FIELD = 'min-w-0 rounded border border-line bg-panel px-2 py-1.5 text-sm placeholder:text-soft'

export function Field({ label, hint, children }: { label: string; hint?: string; children: (id: string) => ReactNode }) {
  const id = useId()
  return (
    <div className="mb-3">
      <label htmlFor={id} className="mb-1 block text-xs font-semibold text-soft">
        {label}
      </label>
      {children(id)}
      {hint && <p className="mt-1 text-xs text-soft">{hint}</p>}
    </div>
  )
}

export function Input(props: InputHTMLAttributes<HTMLInputElement>) {
  return <input {...props} className={`${FIELD} w-full ${props.className ?? ''}`} />
}

export function TextArea(props: TextareaHTMLAttributes<HTMLTextAreaElement>) {
  return <textarea rows={3} {...props} className={`${FIELD} w-full ${props.className ?? ''}`} />
}

export function Panel({ title, action, children }: { title?: ReactNode; action?: ReactNode; children: ReactNode }) {
  return (
    <section className="mb-4 rounded-lg border border-line bg-panel">
      {title && (
        <header className="flex items-center justify-between gap-2 border-b border-line px-3 py-2">
          <h2 className="min-w-0 text-sm font-semibold wrap-anywhere">{title}</h2>
          {action}
        </header>
      )}
      {children}
    </section>
  )
}

export function PageHead({ title, children }: { title: ReactNode; children?: ReactNode }) {
  return (
    <div className="mb-4 flex flex-wrap items-center gap-x-3 gap-y-2">
      <h1 className="mr-auto text-xl font-semibold tracking-tight">{title}</h1>
      {children}
    </div>
  )
}

export interface Choice<T extends string> {
  id: T
  text: ReactNode
}

/** One of a few, side by side. */
export function Choices<T extends string>(props: {
  label: string
  value: T
  choices: readonly Choice<T>[]
  onChange: (value: T) => void
}) {
  return (
    <div role="group" aria-label={props.label} className="inline-flex max-w-full overflow-x-auto rounded border border-line">
      {props.choices.map((choice) => (
        <button
          key={choice.id}
          type="button"
          aria-pressed={choice.id === props.value}
          onClick={() => props.onChange(choice.id)}
          className={`min-h-8 px-2.5 py-1 text-sm whitespace-nowrap ${
            choice.id === props.value ? 'bg-accent-soft font-semibold text-accent' : 'bg-panel hover:bg-sunk'
          }`}
        >
          {choice.text}
        </button>
      ))}
    </div>
  )
}

export function Skeleton({ rows = 4 }: { rows?: number }) {
  return (
    <div className="p-3" aria-busy="true">
      {Array.from({ length: rows }, (_, at) => (
        <div key={at} className="mb-2 h-5 animate-pulse rounded bg-sunk" />
      ))}
    </div>
  )
}
