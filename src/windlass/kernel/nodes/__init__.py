"""What visiting a node does, one module per kind."""
