"""Drift: whether anything in a place is another than when it was made, told by its snapshots."""

from collections.abc import Sequence

import msgspec

from windlass.model.envs import FIRST, EnvSnapshot

_TOLD_MAX = 20


class SnapshotTold(msgspec.Struct, frozen=True):
    """A snapshot as those who judge what was done are told."""

    kind: str
    digest: str
    size_bytes: int
    created_at: int


class EnvDrift(msgspec.Struct, frozen=True):
    """What a verifier is told of the place that a claim was made in."""

    status: str
    """`changed`, `unchanged`, `unknown` if it was not seen before and after, or `not_applicable`
    where there was no place."""
    before_digest: str = ""
    after_digest: str = ""
    periodic_count: int = 0
    """How many of its snapshots were taken by the clock; verifiers of Memoh know the field."""
    snapshots: tuple[SnapshotTold, ...] = ()
    """The newest, oldest first."""


NO_PLACE = EnvDrift("not_applicable")
NOT_SEEN = EnvDrift("unknown")


def drift_of(snapshots: Sequence[EnvSnapshot]) -> EnvDrift:
    """Whether anything has changed since a place was made; the oldest snapshot comes first."""
    first = next((row for row in snapshots if row.kind == FIRST), None)
    later = [row for row in snapshots if row.kind != FIRST]
    before = first.digest if first is not None else ""
    after = later[-1].digest if later else ""
    known = first is not None and bool(later)
    changed = "unchanged" if before == after else "changed"
    return EnvDrift(
        status=changed if known else "unknown",
        before_digest=before,
        after_digest=after,
        periodic_count=sum(row.kind == "periodic" for row in snapshots),
        snapshots=tuple(
            SnapshotTold(row.kind, row.digest, row.size_bytes, row.created_at)
            for row in snapshots[-_TOLD_MAX:]
        ),
    )
