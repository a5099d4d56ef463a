"""The Python SDK: `Client` and `AsyncClient`, twins over one core."""

from windlass.client.aio import AsyncClient, AsyncRun
from windlass.client.errors import RunCancelled, RunEnded, RunFailed, WaitTimeout
from windlass.client.sync import Client, Run

__all__ = [
    "AsyncClient",
    "AsyncRun",
    "Client",
    "Run",
    "RunCancelled",
    "RunEnded",
    "RunFailed",
    "WaitTimeout",
]
