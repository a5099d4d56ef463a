"""The benchmark: the same workloads as the peers' table, beside the machine's own limits."""
