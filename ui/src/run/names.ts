import { createContext, useContext } from 'react'

import { Names } from '@/graph/names'

/** The names of the run on the page. */
export const NamesContext = createContext(new Names())

export function useNames(): Names {
  return useContext(NamesContext)
}
