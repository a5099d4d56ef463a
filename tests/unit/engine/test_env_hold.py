"""A place that is held is kept as it is, also by a runtime that is busy for a moment."""

from collections import Counter

import msgspec
import pytest

from windlass.drivers.env.noop import NoopBackend
from windlass.engine.envs.follow import EnvOutbox, Follower
from windlass.engine.envs.hosts import Hosts
from windlass.engine.loops.outbox import Handler
from windlass.model.effects import Effect
from windlass.model.envs import HOLD, EnvSession, EnvSnapshot, EnvState, place_name
from windlass.model.tenants import DEFAULT
from windlass.ports.env import PlaceError, PlaceGone, PlaceSpec
from windlass.testing.local import LocalEngine, local_engine

pytestmark = pytest.mark.anyio

MINE = "a runtime of this test"


class Busy:
    """A runtime that refuses the first few snapshots, in some words."""

    def __init__(self, refusals: int, error: type[PlaceError | PlaceGone] = PlaceError) -> None:
        self.asked = Counter[str]()
        self._refusals = refusals
        self._error = error
        self.backend = NoopBackend(interfere=self._interfere)

    async def _interfere(self, when: str, method: str, name: str) -> None:
        if when == "before" and method == "snapshot":
            self.asked[name] += 1
            if self.asked[name] <= self._refusals:
                raise self._error("it is busy")


async def held(local: LocalEngine, runtime: Busy) -> EnvOutbox:
    """A session that is held there, and who does the effects of it."""
    hosts = Hosts()
    hosts.add("here", {"noop": runtime.backend})
    session = EnvSession(
        id="s",
        run_id="r",
        task_id="r~a",
        tenant=DEFAULT,
        resource_id="box",
        resource="box",
        kind="noop",
        state=EnvState.HELD,
        attempt_id="r~a.1!1",
        host="here",
        created_at=1,
    )
    await runtime.backend.allocate(PlaceSpec(name=place_name("s"), config={}, labels={}))
    body = msgspec.json.encode({"session": "s"}).decode()
    effect = Effect(id="s!hold", kind=HOLD, address=MINE, body=body, due_at=1, created_at=1)
    await local.engine.write(session, effect)
    handlers: dict[str, Handler] = Follower(local.engine, hosts).handlers
    return EnvOutbox(local.engine, handlers, lambda: [MINE])


async def all_tried(local: LocalEngine, outbox: EnvOutbox) -> int:
    """How many seconds passed until nothing was left to do."""
    assert local._clock is not None
    began = local._clock.now_ms
    for _ in range(50):
        await outbox.run_once()
        if not local.database.table(Effect):
            return (local._clock.now_ms - began) // 1000
        local._clock.now_ms += 1000 * 5
    raise AssertionError("it is tried for ever")


async def test_a_runtime_that_is_busy_for_a_moment_is_asked_again() -> None:
    async with local_engine({}) as local:
        runtime = Busy(2)
        assert await all_tried(local, await held(local, runtime)) < 30
        [kept] = local.database.table(EnvSnapshot).values()
        assert (kept.kind, kept.session_id) == ("checkpoint", "s")


async def test_one_that_always_refuses_is_left_alone_after_a_while() -> None:
    async with local_engine({}) as local:
        runtime = Busy(1000)
        assert 60 < await all_tried(local, await held(local, runtime)) < 200
        assert not local.database.table(EnvSnapshot)
        assert 3 < sum(runtime.asked.values()) < 20


async def test_a_place_that_is_gone_is_not_asked_for_again() -> None:
    async with local_engine({}) as local:
        runtime = Busy(1000, PlaceGone)
        assert await all_tried(local, await held(local, runtime)) == 0
        assert sum(runtime.asked.values()) == 1
