import './app.css'

import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'

import { ApiError } from '@/api/client'
import { live } from '@/live/store'
import { show } from '@/prefs'

import { router } from './router'
import { fetchLater } from './shell/later'
import { keepSession } from './shell/session'

show()

const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 2000,
      refetchOnWindowFocus: false,
      retry: (count, error) => count < 2 && !(error instanceof ApiError && error.status >= 400 && error.status < 500),
    },
  },
})
live.start(queries)

declare global {
  interface Window {
    windlass: { cut: () => void; signedIn: () => void; renewed: () => void }
  }
}
window.windlass = {
  cut: () => live.cut(),
  signedIn: () => {
    live.start(queries)
    void queries.resetQueries()
  },
  renewed: () => live.start(queries),
}

keepSession()
fetchLater()

const root = document.getElementById('root')
if (root) {
  createRoot(root).render(
    <StrictMode>
      <QueryClientProvider client={queries}>
        <RouterProvider router={router} />
      </QueryClientProvider>
    </StrictMode>,
  )
}
