/** The places of the UI, in groups. One whose server part is not there yet is not in the list. */
import type { Text } from '@/i18n'
import type { IconName } from '@/parts/icons'

export interface Place {
  to: '/' | '/runs' | '/inbox' | '/flows' | '/packages' | '/workers' | '/environments' | '/pods' | '/limits' | '/dead-letters' | '/settings'
  text: Text
  icon: IconName
  keys: string
}

export interface Group {
  text: Text
  places: readonly Place[]
}

export const GROUPS: readonly Group[] = [
  {
    text: 'Work',
    places: [
      { to: '/', text: 'Overview', icon: 'overview', keys: 'g o' },
      { to: '/runs', text: 'Runs', icon: 'runs', keys: 'g r' },
      { to: '/inbox', text: 'Inbox', icon: 'inbox', keys: 'g i' },
    ],
  },
  {
    text: 'Build',
    places: [
      { to: '/flows', text: 'Flows', icon: 'flows', keys: 'g f' },
      { to: '/packages', text: 'Packages', icon: 'packages', keys: 'g p' },
    ],
  },
  {
    text: 'Fleet',
    places: [
      { to: '/workers', text: 'Workers', icon: 'workers', keys: 'g w' },
      { to: '/environments', text: 'Environments', icon: 'environments', keys: 'g e' },
      { to: '/pods', text: 'Pods', icon: 'pods', keys: 'g k' },
      { to: '/limits', text: 'Limits', icon: 'limits', keys: 'g l' },
    ],
  },
  { text: 'Data', places: [{ to: '/dead-letters', text: 'Dead letters', icon: 'deadLetters', keys: 'g d' }] },
]

export const SETTINGS: Place = { to: '/settings', text: 'Settings', icon: 'settings', keys: 'g s' }

export const PLACES: readonly Place[] = [...GROUPS.flatMap((group) => group.places), SETTINGS]

/** The place an address belongs to, and its group. */
export function placeOf(path: string): { place: Place; group?: Group } | undefined {
  const place = PLACES.findLast((one) => (one.to === '/' ? path === '/' : path === one.to || path.startsWith(`${one.to}/`)))
  return place && { place, group: GROUPS.find((group) => group.places.includes(place)) }
}
