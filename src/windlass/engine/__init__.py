"""Drives the kernel through the ports: group commit, claims, use cases, background loops."""
