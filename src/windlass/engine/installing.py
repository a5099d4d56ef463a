"""Installing: what became of packages that workers were told to install, for whoever asks why.

It stands in the worker's row, where every server reads it.
"""

from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from windlass.engine.workers import meta_of
from windlass.model.rows import Worker
from windlass.model.values import is_object

INSTALLS = "installs"
"""Where a worker's row has them, by `name@version`."""


class Installing(msgspec.Struct, frozen=True):
    """A worker was told to install a version."""

    asked_at: int
    """Unix milliseconds, database time."""
    error: str | None = None
    """What it answered, if it could not."""


class Told(NamedTuple):
    """Who was told to install something, and what became of it."""

    worker_id: str
    installing: Installing


def last_told(alive: Iterable[Worker], package: str) -> Told | None:
    """Which of some workers was the last to be told to install a version."""
    found: list[Told] = []
    for worker in alive:
        installs = meta_of(worker).get(INSTALLS)
        if is_object(installs) and package in installs:
            found.append(Told(worker.id, msgspec.convert(installs[package], Installing)))
    return max(found, key=lambda told: told.installing.asked_at, default=None)
