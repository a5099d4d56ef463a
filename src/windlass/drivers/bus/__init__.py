"""Buses: within the process, NATS JetStream, Redis streams."""
