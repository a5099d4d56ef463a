"""A small Pod API server over real HTTP, for tests: the promises of Kubernetes about pods."""

from windlass.testing.kube.server import KubeServer

__all__ = ["KubeServer"]
