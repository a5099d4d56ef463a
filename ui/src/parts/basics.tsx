/** Buttons, fields, panels: the few shapes every page is made of. */
import { type ButtonHTMLAttributes, type InputHTMLAttributes, type ReactNode, type Ref, type TextareaHTMLAttributes, useEffect, useId, useRef } from 'react'

import { Icon, type IconName } from './icons'
import { Tip } from './tip'

type Look = 'plain' | 'main' | 'danger' | 'quiet'

const LOOKS: Record<Look, string> = {
  plain: 'border-line bg-panel hover:bg-sunk',
  main: 'border-transparent bg-accent-fill text-on-accent hover:brightness-110',
  danger: 'border-line bg-panel text-bad hover:bg-bad-soft',
  quiet: 'border-transparent text-soft hover:bg-sunk hover:text-text',
}

interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  look?: Look
  icon?: IconName
  ref?: Ref<HTMLButtonElement>
}

export const BUTTON =
  'inline-flex h-7 shrink-0 items-center justify-center gap-1.5 rounded border px-2.5 text-sm font-medium whitespace-nowrap transition-colors disabled:opacity-50'

export function Button({ look = 'plain', icon, className = '', children, ...rest }: ButtonProps) {
  return (
    <button type="button" className={`${BUTTON} ${LOOKS[look]} ${className}`} {...rest}>
      {icon && <Icon name={icon} size={14} />}
      {children}
    </button>
  )
}

interface IconButtonProps extends Omit<ButtonProps, 'children'> {
  icon: IconName
  label: string
}

/** A button that is only an icon; its name is read aloud, and shown when pointed at. */
export function IconButton({ icon, label, look = 'quiet', className = '', ...rest }: IconButtonProps) {
  return (
    <Tip text={label}>
      <button type="button" aria-label={label} className={`${BUTTON} w-7 !px-0 ${LOOKS[look]} ${className}`} {...rest}>
        <Icon name={icon} />
      </button>
    </Tip>
  )
}

export const FIELD =
  'h-8 min-w-0 rounded border border-line bg-panel px-2 text-sm placeholder:text-soft hover:border-edge focus:border-accent transition-colors'

export function Field({ label, hint, children }: { label: string; hint?: string; children: (id: string) => ReactNode }) {
  const id = useId()
  return (
    <div className="mb-3">
      <label htmlFor={id} className="mb-1 block text-xs font-medium text-soft">
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
  return <textarea rows={3} {...props} className={`${FIELD} !h-auto w-full py-1.5 ${props.className ?? ''}`} />
}

export function Panel({ title, action, children }: { title?: ReactNode; action?: ReactNode; children: ReactNode }) {
  return (
    <section className="mb-4 overflow-clip rounded-lg border border-line bg-panel">
      {title && (
        <header className="flex min-h-10 items-center justify-between gap-2 px-3 pt-1.5">
          <h2 className="min-w-0 text-sm font-semibold wrap-anywhere">{title}</h2>
          {action}
        </header>
      )}
      {children}
    </section>
  )
}

export function PageHead({ title, note, children }: { title: ReactNode; note?: ReactNode; children?: ReactNode }) {
  return (
    <div className="mb-4 flex flex-wrap items-center gap-x-2 gap-y-2">
      <h1 className="text-xl font-semibold tracking-tight">{title}</h1>
      <span className="mr-auto text-sm text-soft">{note}</span>
      {children}
    </div>
  )
}

export interface Choice<T extends string> {
  id: T
  text: ReactNode
}

/** One of a few, side by side; on a narrow page the chosen one is scrolled to. */
export function Choices<T extends string>(props: {
  label: string
  value: T
  choices: readonly Choice<T>[]
  onChange: (value: T) => void
}) {
  const box = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const row = box.current
    const chosen = row?.querySelector<HTMLElement>('[aria-pressed=true]')
    if (!row || !chosen) return
    const end = chosen.offsetLeft - row.offsetLeft + chosen.offsetWidth
    row.scrollLeft = Math.max(0, end - row.clientWidth + 2)
  }, [props.value, props.choices.length])
  return (
    <div ref={box} role="group" aria-label={props.label} className="inline-flex max-w-full gap-0.5 overflow-x-auto rounded bg-sunk p-0.5">
      {props.choices.map((choice) => (
        <button
          key={choice.id}
          type="button"
          aria-pressed={choice.id === props.value}
          onClick={() => props.onChange(choice.id)}
          className={`inline-flex h-6 items-center gap-1.5 rounded-sm px-2 text-sm whitespace-nowrap transition-colors ${
            choice.id === props.value ? 'bg-panel font-medium text-text shadow-[0_0_0_1px_var(--line)]' : 'text-soft hover:text-text'
          }`}
        >
          {choice.text}
        </button>
      ))}
    </div>
  )
}

/** A few words about a thing: a tag, a service, a version. */
export function Chip({ children, title }: { children: ReactNode; title?: string }) {
  return (
    <span title={title} className="inline-flex h-5 max-w-full items-center truncate rounded bg-sunk px-1.5 font-mono text-xs text-soft">
      {children}
    </span>
  )
}

export function Skeleton({ rows = 4 }: { rows?: number }) {
  return (
    <div className="p-3" aria-busy="true">
      {Array.from({ length: rows }, (_, at) => (
        <div key={at} className="mb-2 h-5 animate-pulse rounded bg-sunk" style={{ width: `${92 - ((at * 17) % 38)}%` }} />
      ))}
    </div>
  )
}
