import type { Text } from '@/i18n'

export interface Place {
  to: '/' | '/runs' | '/inbox' | '/flows' | '/workers' | '/packages' | '/settings'
  text: Text
  icon: string
  keys: string
}

/** The places of the UI. One whose server part is not there yet is not in the list. */
export const PLACES: readonly Place[] = [
  { to: '/', text: 'Overview', icon: '◫', keys: 'g o' },
  { to: '/runs', text: 'Runs', icon: '▶', keys: 'g r' },
  { to: '/inbox', text: 'Inbox', icon: '‖', keys: 'g i' },
  { to: '/flows', text: 'Flows', icon: '◇', keys: 'g f' },
  { to: '/workers', text: 'Workers', icon: '⚙', keys: 'g w' },
  { to: '/packages', text: 'Packages', icon: '▤', keys: 'g p' },
  { to: '/settings', text: 'Settings', icon: '☰', keys: 'g s' },
]
