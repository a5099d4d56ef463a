"""A page of metrics for whoever watches the worker: on loopback, and only if asked for."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

from windlass.client.pages import pages_served

_HOST = "127.0.0.1"


def metrics_served(port: int, text: Callable[[], str]) -> AbstractAsyncContextManager[int]:
    """Answer `GET /metrics` on a port of this machine until the block ends; 0: do not."""
    return pages_served(_HOST, port, {"/metrics": lambda: (200, text())})
