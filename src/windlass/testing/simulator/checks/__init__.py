"""The invariants, checked after every commit on the runs it touched."""
