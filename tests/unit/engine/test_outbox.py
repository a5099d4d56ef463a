"""Effects are done by somebody, whatever fails; what cannot be done is left where it is seen."""

import asyncio
from collections import Counter

import pytest

from windlass.engine.loops.outbox import NotHere, Outbox
from windlass.model.effects import Effect, worker_address
from windlass.testing.local import LocalEngine, local_engine

pytestmark = pytest.mark.anyio


def effect(name: str, kind: str = "good", address: str = "") -> Effect:
    return Effect(id=name, kind=kind, address=address, due_at=1, created_at=1)


class Desk:
    """Handlers that note what they did."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.tried: Counter[str] = Counter()

    async def good(self, effect: Effect) -> None:
        self.done.append(effect.id)

    async def bad(self, effect: Effect) -> None:
        self.tried[effect.id] += 1
        raise RuntimeError("it is broken")

    async def away(self, effect: Effect) -> None:
        self.tried[effect.id] += 1
        raise NotHere("elsewhere")

    @property
    def handlers(self) -> dict[str, object]:
        return {"good": self.good, "bad": self.bad, "away": self.away}


def outbox(local: LocalEngine, desk: Desk, *addresses: str, **more: float) -> Outbox:
    return Outbox(local.engine, desk.handlers, lambda: addresses, **more)  # type: ignore[arg-type]


def pass_time(local: LocalEngine, seconds: float) -> None:
    assert local._clock is not None
    local._clock.now_ms += int(seconds * 1000)


async def test_what_was_done_is_gone_and_what_fails_holds_up_nobody() -> None:
    async with local_engine({}) as local:
        desk = Desk()
        box = outbox(local, desk)
        await local.engine.write(effect("a"), effect("b", "bad"), effect("c"))
        assert await box.run_once() == 3
        assert sorted(desk.done) == ["a", "c"]
        [left] = local.database.table(Effect).values()
        assert (left.id, left.tries, left.holder) == ("b", 1, "")
        assert "it is broken" in left.error
        assert await box.run_once() == 0, "it is left alone for a moment"


async def test_what_cannot_be_done_is_given_up_after_some_tries() -> None:
    async with local_engine({}) as local:
        desk = Desk()
        box = outbox(local, desk, tries_max=3)
        await local.engine.write(effect("b", "bad"))
        for _ in range(10):
            await box.run_once()
            pass_time(local, 600)
        [left] = local.database.table(Effect).values()
        assert left.state == "dead"
        assert desk.tried["b"] == 3


async def test_what_is_another_process_s_to_do_is_given_back_untried() -> None:
    async with local_engine({}) as local:
        desk = Desk()
        box = outbox(local, desk, worker_address("w"))
        await local.engine.write(effect("x", "away", worker_address("w")), effect("y", "unknown"))
        for _ in range(5):
            await box.run_once()
            pass_time(local, 2)
        rows = local.database.table(Effect).values()
        assert sorted((row.id, row.tries, row.state) for row in rows) == [
            ("x", 0, "waiting"),
            ("y", 0, "waiting"),
        ]


async def test_a_holder_that_dies_leaves_its_effects_to_the_next() -> None:
    async with local_engine({}) as local:
        desk, began = Desk(), asyncio.Event()

        async def hang(effect: Effect) -> None:
            began.set()
            await asyncio.Event().wait()

        await local.engine.write(effect("a"))
        stuck = asyncio.ensure_future(Outbox(local.engine, {"good": hang}).run_once())
        await asyncio.wait_for(began.wait(), 5)
        stuck.cancel()
        await asyncio.gather(stuck, return_exceptions=True)
        box = outbox(local, desk)
        assert await box.run_once() == 0, "its lease still stands"
        pass_time(local, 31)
        assert await box.run_once() == 1
        assert desk.done == ["a"]


async def test_a_commit_with_an_effect_wakes_whoever_does_it() -> None:
    async with local_engine({}) as local:
        desk = Desk()
        box = outbox(local, desk)
        assert await box.run_once() == 0
        waiting = asyncio.ensure_future(box.pause())
        await local.engine.write(effect("a"))
        await asyncio.wait_for(waiting, 1)
        assert await box.run_once() == 1
