import { fileURLToPath } from 'node:url'

import tailwind from '@tailwindcss/vite'
import react from '@vitejs/plugin-react'
import { defineConfig } from 'vitest/config'

const server = process.env.WINDLASS_URL ?? 'http://127.0.0.1:7700'

export default defineConfig({
  // Everything is named relative to the page, so the UI works under any path prefix.
  base: './',
  plugins: [react(), tailwind()],
  resolve: { alias: { '@': fileURLToPath(new URL('./src', import.meta.url)) } },
  worker: { format: 'es' },
  build: {
    outDir: '../src/windlass/server/ui_dist',
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 700,
  },
  server: { proxy: { '/api': server } },
  test: { environment: 'happy-dom', include: ['tests/**/*.test.ts', 'tests/**/*.test.tsx'] },
})
