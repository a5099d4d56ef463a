import { useQuery } from '@tanstack/react-query'
import { useSyncExternalStore } from 'react'

import { getHealth, type Health, onHealth } from '@/api/client'
import { infoQuery, mayActQuery } from '@/api/queries'

export function useHealth(): Health {
  return useSyncExternalStore(onHealth, getHealth)
}

/** Whether actions make sense now; without a control plane, or to who may only look, they would fail. */
export function useCanAct(): boolean {
  const may = useMayAct()
  return useHealth().offline === '' && may
}

/** Whether the token lets its holder act; who may only look sees no buttons the server would refuse. */
export function useMayAct(): boolean {
  const auth = useQuery(infoQuery).data?.auth
  const may = useQuery({ ...mayActQuery, enabled: auth === true })
  return auth === false || may.data === true
}
