/** What a page says when there is nothing, something wrong, or something done. */
import { type ReactNode, useSyncExternalStore } from 'react'

import { ApiError } from '@/api/client'
import { useT } from '@/i18n'

import { Button } from './basics'
import { CopyButton } from './copy'

export function Empty({ title, command, children }: { title: string; command?: string; children?: ReactNode }) {
  return (
    <div className="px-4 py-10 text-center">
      <p className="mb-3 font-medium">{title}</p>
      {children}
      {command && (
        <div className="mx-auto mt-3 flex max-w-xl items-center gap-2 rounded border border-line bg-sunk p-2 text-left">
          <code className="min-w-0 flex-1 overflow-x-auto whitespace-pre font-mono text-xs" tabIndex={0}>
            {command}
          </code>
          <CopyButton text={command} />
        </div>
      )}
    </div>
  )
}

export function Failed({ error, retry }: { error: unknown; retry?: () => void }) {
  const t = useT()
  const title = error instanceof ApiError ? `${error.status || ''} ${error.title}`.trim() : t('Something went wrong')
  return (
    <div role="alert" className="m-3 rounded border border-bad bg-bad-soft p-3 text-sm">
      <p className="font-semibold text-bad">{title}</p>
      <p className="mb-2">{error instanceof Error ? error.message : String(error)}</p>
      {retry && <Button onClick={retry}>{t('Try again')}</Button>}
    </div>
  )
}

interface Toast {
  id: number
  text: string
  bad: boolean
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

export function Toasts() {
  const shown = useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => toasts,
  )
  return (
    <div aria-live="polite" className="fixed right-4 bottom-4 left-4 z-50 flex flex-col items-end gap-2">
      {shown.map((one) => (
        <div
          key={one.id}
          className={`max-w-md rounded border px-3 py-2 text-sm shadow-lg ${
            one.bad ? 'border-bad bg-bad-soft text-bad' : 'border-line bg-panel'
          }`}
        >
          {one.bad ? '✗ ' : '✓ '}
          {one.text}
        </div>
      ))}
    </div>
  )
}
