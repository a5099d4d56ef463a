"""The blackboard as attempts write it and everybody reads it, now or as it was."""

from collections.abc import Sequence
from typing import Any

import msgspec

from windlass.engine.engine import Engine
from windlass.kernel.events import BoardRebuilt, BoardWritten
from windlass.model.blackboard import KEY_MAX, BoardEntry, BoardPast, check_key
from windlass.model.errors import BadRequest, NotFound
from windlass.model.rows import Row
from windlass.model.values import storable
from windlass.ports.store import Cond

AnyEntry = BoardEntry | BoardPast
_FOUND_MAX = 500
_LAST = "\U0010ffff"
"""Comes after whatever a key goes on with."""


async def write(
    engine: Engine, attempt: str, key: str, value: Any, expected: int | None = None
) -> int:
    """Let an attempt write below its own task; returns the revision."""
    payload = storable(msgspec.json.encode(value).decode())
    revision: int = await engine.submit(BoardWritten(attempt, storable(key), payload, expected))
    return revision


async def remove(engine: Engine, attempt: str, key: str, expected: int | None = None) -> int:
    """Take a key away; its earlier revisions stay readable."""
    revision: int = await engine.submit(BoardWritten(attempt, storable(key), None, expected))
    return revision


async def rebuild(engine: Engine, run_id: str, *along: Row) -> tuple[int, int]:
    """Have a run say anew what it has said; how many goals and results that were."""
    told: tuple[int, int] = await engine.submit(BoardRebuilt(run_id), *along)
    return told


def beginning(run_id: str, prefix: str) -> list[Cond]:
    """What picks the keys of a run that stand, and begin so."""
    if prefix and (len(prefix) > KEY_MAX or not prefix.isprintable()):
        raise BadRequest(f'no key begins with "{prefix:.100}"')
    where = [Cond("run_id", "=", run_id), Cond("deleted", "=", 0)]
    if prefix:
        where += [Cond("key", ">=", prefix), Cond("key", "<", prefix + _LAST)]
    return where


async def read(engine: Engine, run_id: str, key: str, revision: int = 0) -> AnyEntry:
    """A key as it stands, or as it stood at a revision; `NotFound` where nothing did."""
    check_key(key)
    async with engine.store.session() as session:
        found: list[BoardEntry] = await session.rows(BoardEntry, [key])
    entry: AnyEntry | None = found[0] if found and found[0].run_id == run_id else None
    if entry is not None and revision and entry.revision > revision:
        past = await revisions(engine, run_id, key, until=revision, limit=1)
        entry = past[0] if past else None
    if entry is None or entry.deleted:
        when = f" at revision {revision}" if revision else ""
        raise NotFound(f'there is no "{key:.200}" on the blackboard{when}')
    return entry


async def revisions(
    engine: Engine, run_id: str, key: str, *, until: int = 0, limit: int = 100
) -> Sequence[BoardPast]:
    """What a key held before, the newest first."""
    where = [Cond("run_id", "=", run_id), Cond("key", "=", key)]
    if until:
        where.append(Cond("revision", "<=", until))
    return await engine.store.page(BoardPast, where, order="revision", descending=True, limit=limit)


async def found(
    engine: Engine, run_id: str, key: str, prefix: str, revision: int
) -> Sequence[AnyEntry]:
    """A key of a run as it stands or stood, or all that begin so."""
    if key:
        return [await read(engine, run_id, key, revision)]
    where = beginning(run_id, prefix)
    return await engine.store.page(BoardEntry, where, order="key", limit=_FOUND_MAX)
