/** A name that shows when something is pointed at or focused. */
import { Tooltip } from 'radix-ui'
import type { ReactElement, ReactNode } from 'react'

interface Props {
  text: ReactNode
  side?: 'top' | 'right' | 'bottom' | 'left'
  children: ReactElement
}

export function Tip({ text, side = 'bottom', children }: Props) {
  return (
    <Tooltip.Root delayDuration={300}>
      <Tooltip.Trigger asChild>{children}</Tooltip.Trigger>
      <Tooltip.Portal>
        <Tooltip.Content
          side={side}
          sideOffset={6}
          collisionPadding={8}
          className="float z-50 max-w-72 rounded border border-line bg-raised px-2 py-1 text-xs text-text shadow-float"
        >
          {text}
        </Tooltip.Content>
      </Tooltip.Portal>
    </Tooltip.Root>
  )
}

export const TipProvider = Tooltip.Provider
