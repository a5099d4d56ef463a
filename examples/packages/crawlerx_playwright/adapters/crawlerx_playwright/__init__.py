"""Pages in Chromium, driven by Playwright."""
