"""The PocketFlow surface: its paths with and without `/api`, its names, its shapes.

What differs on purpose: broken JSON, unknown ids and bad definitions are refused instead of
accepted, `cancel` of an ended run is a conflict, `complete` is fenced, and a worker's log path is
never read from disk.
"""
