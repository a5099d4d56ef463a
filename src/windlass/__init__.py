"""Windlass: durable orchestration, one committed click at a time."""

__version__ = "0.1.0"
