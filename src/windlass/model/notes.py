"""Notes: what an attempt's outcome brings along, kept with the attempt."""

from typing import Any

import msgspec

from windlass.model.env_drift import EnvDrift
from windlass.model.rows import Json


class AttemptNotes(msgspec.Struct, frozen=True, omit_defaults=True):
    """What an attempt's outcome brought along."""

    warnings: tuple[str, ...] = ()
    """Why a result that was taken is not quite what its package promises."""
    metadata: dict[str, Any] | None = None
    """What the worker said of the result."""
    usage: dict[str, int] = {}
    """What it says it has used, by unit: see `budgets`."""

    env_drift: EnvDrift | None = None
    """What it has changed in its place, where its result is judged."""

    def json(self) -> Json | None:
        said = self.warnings or self.metadata or self.usage or self.env_drift
        return msgspec.json.encode(self).decode() if said else None


def read_notes(notes: Json | None) -> AttemptNotes:
    return AttemptNotes() if notes is None else msgspec.json.decode(notes, type=AttemptNotes)


def with_usage(notes: Json | None, usage: dict[str, int]) -> Json | None:
    """The same notes, and what was used."""
    return msgspec.structs.replace(read_notes(notes), usage=usage).json()


def with_drift(notes: Json | None, drift: EnvDrift) -> Json | None:
    """The same notes, and what has changed in its place."""
    return msgspec.structs.replace(read_notes(notes), env_drift=drift).json()
