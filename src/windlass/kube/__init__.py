"""The Kubernetes API: where it is, how to call it, and what of its pods we read."""
