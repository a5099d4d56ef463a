import { Link } from '@tanstack/react-router'

import { useT } from '@/i18n'
import { Empty } from '@/parts/feedback'

export function Lost() {
  const t = useT()
  return (
    <Empty title={t('There is nothing at this address.')}>
      <Link to="/runs" className="text-accent underline">
        {t('Search the runs')}
      </Link>
    </Empty>
  )
}
