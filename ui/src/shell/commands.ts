/** What the palette offers for what is typed. */
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'

import { flowsQuery, runsQuery } from '@/api/queries'
import { outcomeOf } from '@/api/types'
import { type Text, useT } from '@/i18n'
import type { IconName } from '@/parts/icons'
import { getPrefs, setPrefs } from '@/prefs'

import { PLACES } from './nav'

export interface Command {
  section: Text
  text: string
  hint: string
  icon?: IconName
  /** Of a run: its state stands instead of an icon. */
  state?: string
  run: () => void
}

const RUNS_SHOWN = 5
const FOUND_MAX = 14

export function useCommands(text: string, onHelp: () => void): Command[] {
  const wanted = text.trim()
  const runs = useRunCommands()
  const places = usePlaceCommands()
  const actions = useActionCommands(onHelp)
  const all = wanted ? [...places, ...runs, ...actions] : [...runs, ...places, ...actions]
  const fits = (command: Command) => `${command.text} ${command.hint}`.toLowerCase().includes(wanted.toLowerCase())
  return [...all.filter(fits).slice(0, wanted ? FOUND_MAX : 40), ...useSearchCommand(wanted)]
}

function useRunCommands(): Command[] {
  const navigate = useNavigate()
  const read = useInfiniteQuery(runsQuery(''))
  return (read.data?.pages[0]?.items.slice(0, RUNS_SHOWN) ?? []).map((run) => ({
    section: 'Recent runs',
    text: run.goal || run.flow,
    hint: run.id.slice(-6),
    state: outcomeOf(run),
    run: () => void navigate({ to: '/runs/$id', params: { id: run.id } }),
  }))
}

function usePlaceCommands(): Command[] {
  const t = useT()
  const navigate = useNavigate()
  const flows = useQuery(flowsQuery(''))
  const places = PLACES.map<Command>((place) => ({
    section: 'Go to',
    text: t(place.text),
    hint: place.keys,
    icon: place.icon,
    run: () => void navigate({ to: place.to }),
  }))
  const named = (flows.data?.items ?? []).map<Command>((flow) => ({
    section: 'Flows',
    text: flow.name,
    hint: '',
    icon: 'flows',
    run: () => void navigate({ to: '/flows/$name', params: { name: flow.name } }),
  }))
  return [...places, ...named]
}

function useActionCommands(onHelp: () => void): Command[] {
  const t = useT()
  const navigate = useNavigate()
  const themes = (['light', 'dark', 'system'] as const).map<Command>((theme) => ({
    section: 'Actions',
    text: t('Theme: {theme}', { theme: t(theme === 'light' ? 'Light' : theme === 'dark' ? 'Dark' : 'System') }),
    hint: '',
    icon: theme,
    run: () => setPrefs({ theme }),
  }))
  return [
    { section: 'Actions', text: t('New run'), hint: '', icon: 'start_run', run: () => void navigate({ to: '/flows' }) },
    { section: 'Actions', text: t('Failed runs of today'), hint: '', icon: 'failed', run: () => void navigate({ to: '/runs', search: { q: 'status:failed started:>-24h' } }) },
    ...themes,
    { section: 'Actions', text: 'English / 中文', hint: '', icon: 'settings', run: () => setPrefs({ language: getPrefs().language === 'en' ? 'zh' : 'en' }) },
    { section: 'Actions', text: t('Keyboard shortcuts'), hint: '?', icon: 'keys', run: onHelp },
  ]
}

function useSearchCommand(wanted: string): Command[] {
  const t = useT()
  const navigate = useNavigate()
  if (!wanted) return []
  return [
    {
      section: 'Runs',
      text: t('Runs matching {q}', { q: wanted }),
      hint: '',
      icon: 'filter',
      run: () => void navigate({ to: '/runs', search: { q: wanted } }),
    },
  ]
}
