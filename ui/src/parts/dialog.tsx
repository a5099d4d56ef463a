/** A dialog on the browser's own element: focus, Escape and the rest behave as people expect. */
import { type ReactNode, useEffect, useRef } from 'react'

import { useT } from '@/i18n'

import { Button } from './basics'

interface DialogProps {
  title: string
  onClose: () => void
  children: ReactNode
  wide?: boolean
}

export function Dialog({ title, onClose, children, wide = false }: DialogProps) {
  const t = useT()
  const ref = useRef<HTMLDialogElement>(null)
  useEffect(() => {
    const dialog = ref.current
    if (dialog && !dialog.open) dialog.showModal()
  }, [])
  return (
    <dialog
      ref={ref}
      aria-label={title}
      onClose={onClose}
      onClick={(event) => event.target === ref.current && onClose()}
      className={`w-[calc(100vw-2rem)] rounded-lg border border-line bg-panel p-0 shadow-2xl ${
        wide ? 'max-w-3xl' : 'max-w-lg'
      }`}
    >
      <div className="flex items-center justify-between border-b border-line px-4 py-2.5">
        <h2 className="font-semibold">{title}</h2>
        <Button look="quiet" aria-label={t('Close')} onClick={onClose}>
          ✕
        </Button>
      </div>
      <div className="p-4">{children}</div>
    </dialog>
  )
}

interface ConfirmProps {
  title: string
  children: ReactNode
  action: string
  danger?: boolean
  busy?: boolean
  onClose: () => void
  onConfirm: () => void
}

export function Confirm(props: ConfirmProps) {
  const t = useT()
  const action = useRef<HTMLButtonElement>(null)
  useEffect(() => {
    // Enter confirms what does no harm; what does is gone to on purpose.
    if (!props.danger) action.current?.focus()
  }, [props.danger])
  return (
    <Dialog title={props.title} onClose={props.onClose}>
      <div className="mb-4 text-sm">{props.children}</div>
      <div className="flex justify-end gap-2">
        <Button onClick={props.onClose}>{t('Back')}</Button>
        <Button ref={action} look={props.danger ? 'danger' : 'main'} disabled={props.busy} onClick={props.onConfirm}>
          {props.action}
        </Button>
      </div>
    </Dialog>
  )
}
