/** All runs a filter finds, as CSV. */
import { useState } from 'react'

import { call, saveAs } from '@/api/client'
import type { Page, Run } from '@/api/types'
import { csvOf } from '@/filter/csv'
import { useT } from '@/i18n'
import { Button } from '@/parts/basics'
import { toast, toastError } from '@/parts/feedback'

const RUNS_MAX = 10_000
const PAGE = 500

export function ExportButton({ q, disabled }: { q: string; disabled: boolean }) {
  const t = useT()
  const [read, setRead] = useState<number | null>(null)
  const go = async () => {
    const runs: Run[] = []
    let cursor = ''
    do {
      setRead(runs.length)
      const page: Page<Run> = await call('runs', { query: { q, cursor, limit: PAGE } })
      runs.push(...page.items)
      cursor = page.next ? String(page.next) : ''
    } while (cursor && runs.length < RUNS_MAX)
    saveAs(new Blob([csvOf(runs)], { type: 'text/csv' }), 'runs.csv')
    toast(t('{n} runs exported', { n: runs.length }))
  }
  const start = () => {
    go()
      .catch(toastError)
      .finally(() => setRead(null))
  }
  return (
    <Button icon="download" disabled={disabled || read !== null} aria-label={t('Export as CSV')} onClick={start}>
      CSV{read ? ` ${read}…` : ''}
    </Button>
  )
}
