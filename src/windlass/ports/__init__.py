"""Interfaces between the engine and the outside, one per file, each with its promise."""
