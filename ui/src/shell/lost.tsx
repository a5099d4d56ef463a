/** There is nothing here, and where to go instead. */
import { Link } from '@tanstack/react-router'

import { useT } from '@/i18n'
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
    <div className="px-4 py-16 text-center">
      <p aria-hidden="true" className="mb-2 text-4xl text-soft">
        ⊘
      </p>
      <h1 className="mb-3 text-lg font-semibold wrap-anywhere">{said}</h1>
      <Link to={to} className="text-accent underline">
        {way ?? t('Overview')}
      </Link>
    </div>
  )
}
