"""The link plane: workers on WebSockets, over the engine's demand, leases and outcomes."""
