"""Copies of the blackboard: in process, NATS KV, Redis."""
