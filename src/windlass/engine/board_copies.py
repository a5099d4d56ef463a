"""Copies of the blackboard for readers outside.

Where there is a board, every commit that writes on the blackboard promises in its own rows that
what it wrote is copied. What is copied is what stands when it is done, so a crash repeats and an
older write is never put over a newer one. A board that is away costs no try; one that was wiped is
filled again by rebuilding a run's blackboard.
"""

from collections.abc import Sequence
from typing import cast

import msgspec

from windlass.engine.engine import Engine
from windlass.engine.loops.outbox import NotHere, Outbox
from windlass.model.blackboard import BoardEntry
from windlass.model.effects import Effect
from windlass.model.errors import Unavailable
from windlass.model.rows import Event, Run
from windlass.model.times import iso
from windlass.ports.board import Board, BoardCopy
from windlass.ports.store import Cond, Writes

COPY = "copy_board"
ADDRESS = "board"
_ALL = "*"
_AT_ONCE = 200


def promise(writes: Writes, now: int) -> None:
    """Add to a commit that what it wrote on blackboards is to be copied."""
    keys: dict[str, set[str]] = {}
    for rows in (writes.made.get(BoardEntry, {}), writes.changed.get(BoardEntry, {})):
        for entry in cast("dict[str, BoardEntry]", rows).values():
            keys.setdefault(entry.run_id, set()).add(entry.key)
    keys |= {run_id: {_ALL} for run_id in _rebuilt(writes)}
    if not keys:
        return
    seqs = {run.id: run.seq for run in _runs(writes)}
    effects = writes.made.setdefault(Effect, {})
    for run_id, some in keys.items():
        effect = Effect(
            id=f"{COPY}:{run_id}:{seqs[run_id]}",
            kind=COPY,
            address=ADDRESS,
            run_id=run_id,
            body=msgspec.json.encode(sorted(some)).decode(),
            due_at=now,
            created_at=now,
        )
        effects[effect.id] = effect


def _rebuilt(writes: Writes) -> list[str]:
    """Runs that say everything anew."""
    made = cast("dict[tuple[str, int], Event]", writes.made.get(Event, {}))
    return [event.run_id for event in made.values() if event.type == "board.rebuilt"]


def _runs(writes: Writes) -> list[Run]:
    rows = (writes.made.get(Run, {}), writes.changed.get(Run, {}))
    return [run for some in rows for run in cast("dict[str, Run]", some).values()]


class BoardCopier:
    """Does what commits have promised the board."""

    def __init__(self, engine: Engine, board: Board) -> None:
        self._engine = engine
        self._board = board

    def outbox(self) -> Outbox:
        """The loop that copies, for an engine whose commits promise it from now on."""
        self._engine.advance.promises.append(promise)
        addresses = (ADDRESS,)
        return Outbox(self._engine, {COPY: self.copy}, lambda: addresses, anybodys=False)

    async def copy(self, effect: Effect) -> None:
        keys = msgspec.json.decode(effect.body, type=list[str])
        if keys == [_ALL]:
            await self._copy_all(effect.run_id)
            return
        for at in range(0, len(keys), _AT_ONCE):
            async with self._engine.store.session() as session:
                await self._put(await session.rows(BoardEntry, keys[at : at + _AT_ONCE]))

    async def _copy_all(self, run_id: str) -> None:
        after = ""
        while True:
            where = [Cond("run_id", "=", run_id), Cond("key", ">", after)]
            entries = await self._engine.store.page(BoardEntry, where, order="key", limit=_AT_ONCE)
            await self._put(entries)
            if len(entries) < _AT_ONCE:
                return
            after = entries[-1].key

    async def _put(self, entries: Sequence[BoardEntry]) -> None:
        try:
            await self._board.put([copy_of(entry) for entry in entries])
        except Unavailable as error:
            raise NotHere(str(error)) from error


def copy_of(entry: BoardEntry) -> BoardCopy:
    """An entry in Memoh's words."""
    told = {
        "schema_version": "v1",
        "writer_type": str(entry.writer),
        "writer_id": entry.writer_id,
        "attempt_id": entry.attempt_id,
        "claim_epoch": entry.epoch,
        "updated_at": iso(entry.at),
        "persistence_class": "from_postgres",
        "revision": entry.revision,
        "payload": msgspec.Raw(entry.payload.encode()),
    }
    body = b"" if entry.deleted else msgspec.json.encode(told)
    return BoardCopy(entry.key, entry.revision, body, bool(entry.deleted))
