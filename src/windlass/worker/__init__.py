"""Workers: services written as plain functions, run for the server by pull or by push."""

from windlass.worker.context import Context
from windlass.worker.errors import Cancelled, PermanentError, ServiceError, TemporaryError
from windlass.worker.registry import Worker

__all__ = [
    "Cancelled",
    "Context",
    "PermanentError",
    "ServiceError",
    "TemporaryError",
    "Worker",
]
