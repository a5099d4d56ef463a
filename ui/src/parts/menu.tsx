/** Menus: by mouse, by keyboard, closed by Escape and by a click beside them. */
import { DropdownMenu } from 'radix-ui'
import type { ReactElement, ReactNode } from 'react'

import { Icon, type IconName } from './icons'

interface MenuProps {
  /** What opens it. */
  button: ReactElement
  label: string
  children: ReactNode
  align?: 'start' | 'end'
}

export function Menu({ button, label, children, align = 'end' }: MenuProps) {
  return (
    // Not modal: a modal menu locks the page's scrolling by a style of its own, which our policy forbids.
    <DropdownMenu.Root modal={false}>
      <DropdownMenu.Trigger asChild>{button}</DropdownMenu.Trigger>
      <DropdownMenu.Portal>
        <DropdownMenu.Content
          aria-label={label}
          align={align}
          sideOffset={4}
          collisionPadding={8}
          onEscapeKeyDown={(event) => event.stopPropagation()}
          className="float z-40 max-h-[70vh] min-w-44 overflow-y-auto rounded-lg border border-line bg-raised p-1 shadow-float"
        >
          {children}
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  )
}

const ROW =
  'flex h-7 cursor-default items-center gap-2 rounded px-2 text-sm outline-none select-none data-[disabled]:opacity-50 data-[highlighted]:bg-sunk'

interface ItemProps {
  icon?: IconName
  children: ReactNode
  hint?: ReactNode
  danger?: boolean
  disabled?: boolean
  /** Stay open after it was chosen, to show that it was. */
  stays?: boolean
  onSelect: () => void
}

export function MenuItem({ icon, children, hint, danger, disabled, stays, onSelect }: ItemProps) {
  return (
    <DropdownMenu.Item
      disabled={disabled}
      className={`${ROW} ${danger ? 'text-bad' : ''}`}
      onSelect={(event) => {
        if (stays) event.preventDefault()
        onSelect()
      }}
    >
      {icon && <Icon name={icon} className={danger ? '' : 'text-soft'} />}
      <span className="flex-1">{children}</span>
      {hint && <span className="pl-4 text-xs text-soft">{hint}</span>}
    </DropdownMenu.Item>
  )
}

/** One of a few; the one that holds has a mark. */
export function MenuChoices<T extends string>(props: {
  label: string
  value: T
  choices: readonly { id: T; text: ReactNode; icon?: IconName }[]
  onChange: (value: T) => void
}) {
  return (
    <DropdownMenu.RadioGroup value={props.value} onValueChange={(value) => props.onChange(value as T)}>
      <DropdownMenu.Label className="px-2 pt-1.5 pb-0.5 text-xs font-medium text-soft">{props.label}</DropdownMenu.Label>
      {props.choices.map((choice) => (
        <DropdownMenu.RadioItem key={choice.id} value={choice.id} className={ROW} onSelect={(event) => event.preventDefault()}>
          {choice.icon && <Icon name={choice.icon} className="text-soft" />}
          <span className="flex-1">{choice.text}</span>
          <DropdownMenu.ItemIndicator>
            <Icon name="check" size={14} className="text-accent" />
          </DropdownMenu.ItemIndicator>
        </DropdownMenu.RadioItem>
      ))}
    </DropdownMenu.RadioGroup>
  )
}

export function MenuCheck(props: { checked: boolean; children: ReactNode; onChange: (checked: boolean) => void }) {
  return (
    <DropdownMenu.CheckboxItem checked={props.checked} onCheckedChange={props.onChange} className={ROW} onSelect={(event) => event.preventDefault()}>
      <span className="flex-1">{props.children}</span>
      <DropdownMenu.ItemIndicator>
        <Icon name="check" size={14} className="text-accent" />
      </DropdownMenu.ItemIndicator>
    </DropdownMenu.CheckboxItem>
  )
}

export function MenuLine() {
  return <DropdownMenu.Separator className="mx-1 my-1 h-px bg-line" />
}
