"""The native API under /api/v1."""
