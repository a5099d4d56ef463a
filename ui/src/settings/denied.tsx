/** What only administrators see, for everybody else. */
import { ApiError } from '@/api/client'
import { useT } from '@/i18n'
import { Panel } from '@/parts/basics'
import { Empty } from '@/parts/feedback'

export function isDenied(error: unknown): boolean {
  return error instanceof ApiError && error.status === 403
}

export function NotForYou() {
  const t = useT()
  return (
    <Panel>
      <Empty icon="tokens" title={t('Only administrators see this.')} />
    </Panel>
  )
}
