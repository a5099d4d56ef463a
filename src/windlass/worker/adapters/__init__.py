"""Adapters: handlers that packages bring, each package version in a process of its own."""
