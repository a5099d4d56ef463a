import { type Text, useT } from '@/i18n'
import { Dialog } from '@/parts/dialog'

import { PLACES } from './nav'

const KEYS: [string, Text][] = [
  ['⌘K / Ctrl K', 'Command palette'],
  ['/', 'Go to the filter'],
  ['j  k', 'Next, previous row'],
  ['Enter', 'Open'],
  ['x', 'Select the row'],
  ['r', 'Retry'],
  ['.', 'Next error'],
  ['1 – 6', 'Tabs of the task'],
  ['f', 'Fit the graph'],
  ['c', 'Compress idle gaps'],
  ['a', 'Approve (inbox)'],
  ['Esc', 'Close the task'],
  ['?', 'Keyboard shortcuts'],
]

export function Help({ onClose }: { onClose: () => void }) {
  const t = useT()
  return (
    <Dialog title={t('Keyboard shortcuts')} onClose={onClose}>
      <dl className="grid grid-cols-[auto_1fr] gap-x-4 gap-y-1.5 text-sm">
        {[...KEYS, ...PLACES.map((place): [string, Text] => [place.keys, place.text])].map(([keys, text]) => (
          <div key={keys} className="contents">
            <dt>
              <kbd className="rounded border border-line bg-sunk px-1.5 font-mono text-xs">{keys}</kbd>
            </dt>
            <dd>{t(text)}</dd>
          </div>
        ))}
      </dl>
      <p className="mt-4 text-xs text-soft">{t('Single keys can be turned off under Settings.')}</p>
    </Dialog>
  )
}
