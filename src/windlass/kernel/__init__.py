"""The kernel decides what a run does next, from its arguments alone, and does nothing itself."""
