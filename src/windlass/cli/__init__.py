"""The `windlass` command line. Modules load when their command runs: help must be instant."""
