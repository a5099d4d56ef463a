"""Surfaces of earlier systems: thin translations of the same use cases."""
