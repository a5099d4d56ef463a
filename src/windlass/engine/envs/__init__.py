"""Environments: resources people make, and the runtimes that follow what the kernel decides."""
