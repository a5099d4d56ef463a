import { useSyncExternalStore } from 'react'

import { getHealth, type Health, onHealth } from '@/api/client'

export function useHealth(): Health {
  return useSyncExternalStore(onHealth, getHealth)
}

/** Whether actions make sense now; without a control plane they would only fail. */
export function useCanAct(): boolean {
  return useHealth().offline === ''
}
