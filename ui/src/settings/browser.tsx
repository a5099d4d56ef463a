/** How the UI looks in this browser, and what the server says of itself. */
import { useQuery } from '@tanstack/react-query'

import { infoQuery } from '@/api/queries'
import { useT } from '@/i18n'
import { Choices, Panel } from '@/parts/basics'
import { setPrefs, usePrefs } from '@/prefs'

export function Looks() {
  const t = useT()
  const prefs = usePrefs()
  const row = 'flex min-h-11 flex-wrap items-center justify-between gap-2 border-t border-line px-3 py-1.5'
  return (
    <Panel title={t('This browser')}>
      <div className={row}>
        <span>{t('Theme')}</span>
        <Choices
          label={t('Theme')}
          value={prefs.theme}
          choices={[
            { id: 'system', text: t('System') },
            { id: 'light', text: t('Light') },
            { id: 'dark', text: t('Dark') },
          ]}
          onChange={(theme) => setPrefs({ theme })}
        />
      </div>
      <div className={row}>
        <span>{t('Times')}</span>
        <Choices
          label={t('Times')}
          value={prefs.zone}
          choices={[
            { id: 'local', text: t('Local time') },
            { id: 'utc', text: 'UTC' },
            { id: 'relative', text: t('Relative') },
          ]}
          onChange={(zone) => setPrefs({ zone })}
        />
      </div>
      <div className={row}>
        <span>{t('Language')}</span>
        <Choices
          label={t('Language')}
          value={prefs.language}
          choices={[
            { id: 'en', text: 'English' },
            { id: 'zh', text: '中文' },
          ]}
          onChange={(language) => setPrefs({ language })}
        />
      </div>
      <label className={row}>
        <span>{t('Single-key shortcuts')}</span>
        <input type="checkbox" className="size-4" checked={prefs.keys} onChange={(event) => setPrefs({ keys: event.target.checked })} />
      </label>
    </Panel>
  )
}

export function ServerFacts() {
  const t = useT()
  const info = useQuery(infoQuery)
  const facts: [string, React.ReactNode][] = [
    [t('Version'), info.data?.version],
    [t('Store'), info.data?.store],
    [t('Lease'), `${info.data?.leaseS} s`],
    [t('Tokens'), info.data?.auth ? t('required') : t('not required: only this machine is served')],
  ]
  return (
    <Panel title={t('Server')}>
      <dl>
        {facts.map(([name, value]) => (
          <div key={name} className="flex min-h-11 items-center justify-between gap-4 border-t border-line px-3 text-sm">
            <dt className="text-soft">{name}</dt>
            <dd className="text-right">{value}</dd>
          </div>
        ))}
      </dl>
    </Panel>
  )
}
