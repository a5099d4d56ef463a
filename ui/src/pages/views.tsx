/** Saved views: filters with a name. They live in the address, so a view can be sent to anybody. */
import { useT } from '@/i18n'
import { Button } from '@/parts/basics'
import { Icon } from '@/parts/icons'
import { setPrefs, usePrefs } from '@/prefs'

export function Views({ q, onChoose }: { q: string; onChoose: (q: string) => void }) {
  const t = useT()
  const { views } = usePrefs()
  const given = [
    { name: t('All'), q: '' },
    { name: t('Active'), q: 'status:queued,running,waiting,cancelling' },
    { name: t('Failed today'), q: 'status:failed started:>-24h' },
    { name: t('Waiting'), q: 'status:waiting' },
  ]
  const known = [...given, ...views].some((view) => view.q === q)
  const save = () => {
    const name = prompt(t('Name of the view'))?.trim()
    if (name) setPrefs({ views: [...views.filter((view) => view.name !== name), { name, q }] })
  }
  const look = (on: boolean) =>
    `h-6 rounded px-2 text-sm transition-colors ${on ? 'bg-accent-soft font-medium text-accent' : 'text-soft hover:bg-sunk hover:text-text'}`
  return (
    <div role="group" aria-label={t('Views')} className="mb-2 flex flex-wrap items-center gap-1.5">
      {given.map((view) => (
        <button key={view.q} type="button" aria-pressed={view.q === q} onClick={() => onChoose(view.q)} className={look(view.q === q)}>
          {view.name}
        </button>
      ))}
      {views.map((view) => (
        <span key={view.name} className="inline-flex items-center">
          <button type="button" aria-pressed={view.q === q} onClick={() => onChoose(view.q)} className={look(view.q === q)}>
            {view.name}
          </button>
          <button
            type="button"
            aria-label={t('Forget {name}', { name: view.name })}
            className="px-1 text-xs text-soft"
            onClick={() => setPrefs({ views: views.filter((one) => one !== view) })}
          >
            <Icon name="close" size={12} />
          </button>
        </span>
      ))}
      {!known && (
        <Button look="quiet" icon="add" onClick={save}>
          {t('Save view')}
        </Button>
      )}
    </div>
  )
}
