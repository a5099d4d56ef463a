"""Windlass: durable orchestration, one committed click at a time."""

import importlib
from typing import Any

__version__ = "0.1.0"

# Names are loaded when they are first used: a worker needs no client, and `--help` needs neither.
# Type checkers read the stub beside this file, and the import graph stays as narrow as it is.
_HOMES = {
    "AsyncClient": "windlass.client",
    "Client": "windlass.client",
    "RunCancelled": "windlass.client",
    "RunFailed": "windlass.client",
    "Flow": "windlass.authoring",
    "Cancelled": "windlass.worker",
    "Context": "windlass.worker",
    "PermanentError": "windlass.worker",
    "TemporaryError": "windlass.worker",
    "Worker": "windlass.worker",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(home), name)


def __dir__() -> list[str]:
    """What completion offers: what there is to use, loaded or not."""
    return sorted({*globals(), *_HOMES} - {"Any", "importlib"})
