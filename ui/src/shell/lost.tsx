/** There is nothing here, and where to go instead. */
import { Link } from '@tanstack/react-router'

import { useT } from '@/i18n'
import { BUTTON } from '@/parts/basics'
import { Icon } from '@/parts/icons'
import { useTitle } from '@/parts/title'

interface Props {
  title?: string
  to?: '/' | '/runs' | '/flows' | '/packages'
  way?: string
}

export function Lost({ title, to = '/', way }: Props) {
  const t = useT()
  const said = title ?? t('There is nothing at this address.')
  useTitle(said)
  return (
    <div className="flex flex-col items-center gap-4 px-4 py-[14vh] text-center">
      <Broken />
      <h1 className="text-xl font-semibold wrap-anywhere">{said}</h1>
      <Link to={to} className={`${BUTTON} border-line bg-panel hover:bg-sunk`}>
        <Icon name="back" size={14} />
        {way ?? t('Overview')}
      </Link>
    </div>
  )
}

/** Two cards whose line does not meet. */
function Broken() {
  return (
    <svg aria-hidden="true" width="168" height="56" viewBox="0 0 168 56" fill="none" className="text-edge">
      <rect x="1" y="10" width="48" height="36" rx="6" stroke="currentColor" />
      <rect x="119" y="10" width="48" height="36" rx="6" stroke="currentColor" strokeDasharray="4 3" />
      <path d="M49 28h20" stroke="currentColor" />
      <path d="M99 28h20" stroke="currentColor" strokeDasharray="3 3" />
      <path d="m78 22 12 12m0-12L78 34" stroke="var(--bad)" strokeWidth="2" strokeLinecap="round" />
    </svg>
  )
}
