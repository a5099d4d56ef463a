"""Stores: SQLite for one process, PostgreSQL for many."""
