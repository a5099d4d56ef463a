"""Queues that facts come in by."""
