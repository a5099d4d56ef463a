/** Dialogs: focus goes in and comes back, Escape and a click beside them close them. */
import { Dialog as Radix } from 'radix-ui'
import { type ReactNode, useRef } from 'react'

import { useT } from '@/i18n'

import { Button, IconButton } from './basics'

/** What lies under a dialog. Our own: Radix's locks scrolling by a style element, which our policy forbids. */
export const SCRIM = 'fixed inset-0 z-40 bg-[var(--scrim)]'

interface DialogProps {
  title: string
  onClose: () => void
  children: ReactNode
  wide?: boolean
  /** Where the focus goes at first; otherwise to the first thing that takes it. */
  focus?: () => HTMLElement | null
}

export function Dialog({ title, onClose, children, wide = false, focus }: DialogProps) {
  const t = useT()
  return (
    <Radix.Root open onOpenChange={(open) => !open && onClose()}>
      <Radix.Portal>
        <div className={SCRIM} />
        <Radix.Content
          aria-describedby={undefined}
          // One press closes one thing: the dialog, not also what lies behind it.
          onEscapeKeyDown={(event) => event.stopPropagation()}
          onOpenAutoFocus={(event) => {
            const wanted = focus?.()
            if (!wanted) return
            event.preventDefault()
            wanted.focus()
          }}
          className={`float fixed top-[12vh] left-1/2 z-50 flex max-h-[80vh] w-[calc(100vw-2rem)] -translate-x-1/2 flex-col rounded-lg border border-line bg-raised shadow-float ${
            wide ? 'max-w-3xl' : 'max-w-lg'
          }`}
        >
          <div className="flex items-center justify-between gap-2 py-2.5 pr-2 pl-4">
            <Radix.Title className="text-lg font-semibold">{title}</Radix.Title>
            <IconButton icon="close" label={t('Close')} onClick={onClose} />
          </div>
          <div className="min-h-0 overflow-y-auto px-4 pb-4">{children}</div>
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
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
  const back = useRef<HTMLButtonElement>(null)
  return (
    // Enter confirms what does no harm; what does is gone to on purpose.
    <Dialog title={props.title} onClose={props.onClose} focus={() => (props.danger ? back : action).current}>
      <div className="mb-4 text-sm">{props.children}</div>
      <div className="flex justify-end gap-2">
        <Button ref={back} onClick={props.onClose}>
          {t('Back')}
        </Button>
        <Button ref={action} look={props.danger ? 'danger' : 'main'} disabled={props.busy} onClick={props.onConfirm}>
          {props.action}
        </Button>
      </div>
    </Dialog>
  )
}
