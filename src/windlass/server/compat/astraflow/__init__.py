"""AstraFlow's shapes over the same use cases: runs of workflows, node by node."""
