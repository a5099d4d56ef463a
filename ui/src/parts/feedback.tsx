/** What a page says when there is nothing, something wrong, or something done. */
import { type ReactNode, useSyncExternalStore } from 'react'

import { ApiError } from '@/api/client'
import { useT } from '@/i18n'

import { Button } from './basics'
import { CopyButton } from './copy'
import { Icon, type IconName } from './icons'

interface EmptyProps {
  title: string
  icon?: IconName
  command?: string
  children?: ReactNode
}

/** Nothing here: a small drawing, one sentence, and the next thing to do. */
export function Empty({ title, icon = 'search', command, children }: EmptyProps) {
  return (
    <div className="flex flex-col items-center gap-3 px-4 py-12 text-center">
      <Drawing icon={icon} />
      <p className="max-w-md text-sm text-soft">{title}</p>
      {children}
      {command && <Command text={command} />}
    </div>
  )
}

/** Three cards on a line, the middle one with what this is about. */
function Drawing({ icon }: { icon: IconName }) {
  const side = 'h-7 w-10 rounded border border-dashed border-edge opacity-60'
  return (
    <div aria-hidden="true" className="flex items-center">
      <span className={side} />
      <span className="h-px w-4 bg-line" />
      <span className="grid size-11 place-items-center rounded-lg border border-line bg-panel text-accent">
        <Icon name={icon} size={20} />
      </span>
      <span className="h-px w-4 bg-line" />
      <span className={side} />
    </div>
  )
}

export function Command({ text }: { text: string }) {
  return (
    <div className="flex w-full max-w-xl items-center gap-2 rounded-lg bg-sunk p-2 pl-3 text-left">
      <code className="min-w-0 flex-1 overflow-x-auto font-mono text-xs whitespace-pre" tabIndex={0}>
        {text}
      </code>
      <CopyButton text={text} />
    </div>
  )
}

export function Failed({ error, retry }: { error: unknown; retry?: () => void }) {
  const t = useT()
  const title = error instanceof ApiError ? `${error.status || ''} ${error.title}`.trim() : t('Something went wrong')
  return (
    <div role="alert" className="m-3 flex items-start gap-3 rounded-lg bg-bad-soft p-3 text-sm">
      <Icon name="failed" className="mt-0.5 text-bad" />
      <div className="min-w-0 flex-1">
        <p className="font-semibold text-bad">{title}</p>
        <p className="wrap-anywhere">{error instanceof Error ? error.message : String(error)}</p>
      </div>
      {retry && <Button onClick={retry}>{t('Try again')}</Button>}
    </div>
  )
}

interface Toast {
  id: number
  text: string
  bad: boolean
  undo?: () => void
}

let toasts: Toast[] = []
let count = 0
const listeners = new Set<() => void>()

function setToasts(next: Toast[]): void {
  toasts = next
  listeners.forEach((listener) => listener())
}

/** Say something for a few seconds; what went wrong stays longer. */
export function toast(text: string, bad = false): void {
  count += 1
  const id = count
  setToasts([...toasts.slice(-3), { id, text, bad }])
  setTimeout(() => setToasts(toasts.filter((one) => one.id !== id)), bad ? 10_000 : 4000)
}

export function toastError(error: unknown): void {
  toast(error instanceof Error ? error.message : String(error), true)
}

/** Something that is done in a few seconds, unless it is taken back. */
export function toastUndo(text: string, ms: number, work: () => void): void {
  count += 1
  const id = count
  const gone = () => setToasts(toasts.filter((one) => one.id !== id))
  const timer = setTimeout(() => {
    gone()
    work()
  }, ms)
  const undo = () => {
    clearTimeout(timer)
    gone()
  }
  setToasts([...toasts.slice(-3), { id, text, bad: false, undo }])
}

export function Toasts() {
  const t = useT()
  const shown = useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => toasts,
  )
  return (
    <div aria-live="polite" className="pointer-events-none fixed right-4 bottom-4 left-4 z-50 flex flex-col items-end gap-2">
      {shown.map((one) => (
        <div
          key={one.id}
          data-toast
          className="float pointer-events-auto flex max-w-md items-start gap-2 rounded-lg border border-line bg-raised px-3 py-2 text-sm shadow-float"
        >
          <Icon name={one.bad ? 'failed' : 'succeeded'} className={`mt-0.5 ${one.bad ? 'text-bad' : 'text-ok'}`} />
          <span className="min-w-0 wrap-anywhere">{one.text}</span>
          {one.undo && (
            <button type="button" className="pl-2 font-medium text-accent hover:underline" onClick={one.undo}>
              {t('Undo')}
            </button>
          )}
        </div>
      ))}
    </div>
  )
}
