"""After an outage, what a pass decided counts as committed only if it was."""

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from windlass.engine import runs
from windlass.engine.engine import Engine
from windlass.model.errors import Unavailable
from windlass.model.rows import Event
from windlass.ports.store import Writes
from windlass.testing.local import LocalEngine, local_engine
from windlass.testing.memory import MemoryStore

pytestmark = pytest.mark.anyio

WAITS = {
    "start": "a",
    "nodes": {"a": {"kind": "wait_event", "params": {"signal_key": "$shared.x"}}},
}


class Away:
    """The database is away once: when it is read for the given time, or as it is to answer."""

    def __init__(self, *, at_read: int = 0, after_save: bool = False) -> None:
        self.reads = 0
        self._at_read = at_read
        self._after_save = after_save

    async def reading(self) -> None:
        self.reads += 1
        if self.reads == self._at_read:
            raise Unavailable("the database is away", 0.01)

    async def saving(self, commit: Callable[[], None]) -> None:
        commit()
        if self._after_save:
            self._after_save = False
            raise Unavailable("the connection broke before the answer", 0.01)


def events_of(local: LocalEngine, run_id: str) -> list[Event]:
    return list(local.database.of_run(Event, run_id))


async def waiting(local: LocalEngine) -> str:
    run_id = await local.start(WAITS)
    await local.signal(run_id, "y", 1)
    return run_id


def watched(engine: Engine, away: Away) -> None:
    store: Any = engine.system.store
    assert isinstance(store, MemoryStore)
    store.around = away


async def test_what_was_never_sent_is_not_taken_for_what_another_has_committed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with local_engine({}) as local:
        run_id = await waiting(local)
        engine = local.engine

        async def same_is_there(_: Writes) -> bool:
            return True

        monkeypatch.setattr(engine.advance, "_was_committed", same_is_there)
        engine.advance.workspace.forget(run_id)
        watched(engine, Away(at_read=2))
        before = len(events_of(local, run_id))
        with pytest.raises(Unavailable):
            await runs.signal(engine, run_id, "x", "1")
        assert len(events_of(local, run_id)) == before


async def test_an_answer_that_was_lost_is_found() -> None:
    async with local_engine({}) as local:
        run_id = await waiting(local)
        watched(local.engine, Away(after_save=True))
        await runs.signal(local.engine, run_id, "x", "1")
        run = await runs.wait_run(local.engine, run_id, 5)
        assert run.state == "succeeded"


async def test_all_of_a_commit_is_looked_for() -> None:
    async with local_engine({}) as local:
        run_id = await waiting(local)
        first, second = events_of(local, run_id)[:2]
        mine = replace(second, seq=99)
        for made, there in (([first, second], True), ([first, mine], False), ([], False)):
            writes = Writes(made={Event: {event.pk: event for event in made}})
            assert await local.engine.advance._was_committed(writes) is there
