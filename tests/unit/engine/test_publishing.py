"""Events of runs on a bus: promised by the commit that makes them, and published at least once."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest

from windlass.drivers.bus.memory import MemoryBus
from windlass.engine import dead_letters
from windlass.engine.deleting import delete_run
from windlass.engine.publishing import PUBLISH, Publisher
from windlass.model.dead_letters import DeadLetter
from windlass.model.effects import Effect
from windlass.model.errors import Unavailable
from windlass.model.rows import Event
from windlass.ports.bus import Message, Unpublishable
from windlass.protocol.run_events import RunEvent
from windlass.testing.local import LocalEngine, local_engine

pytestmark = pytest.mark.anyio

FLOW = {"start": "a", "nodes": {"a": {"exec_type": "queue", "service": "s"}}, "edges": []}


class Moody(MemoryBus):
    """A bus that can be away, or refuse something for good."""

    def __init__(self) -> None:
        super().__init__()
        self.error: Exception | None = None
        self.taken: list[RunEvent] = []

    async def publish(self, messages: Sequence[Message]) -> None:
        if self.error is not None:
            raise self.error
        self.taken += [msgspec.json.decode(message.body, type=RunEvent) for message in messages]
        await super().publish(messages)


@asynccontextmanager
async def world(**services: Any) -> AsyncGenerator[tuple[LocalEngine, Moody, Any]]:
    async with local_engine(services, clock="real") as local:
        bus = Moody()
        outbox = Publisher(local.engine, bus, "windlass").outbox()
        yield local, bus, outbox


def effects(local: LocalEngine) -> list[Effect]:
    return list(local.database.table(Effect).values())


async def drain(outbox: Any) -> None:
    while await outbox.run_once():
        pass


async def next_of(messages: AsyncIterator[Message], count: int) -> list[Message]:
    async with asyncio.timeout(5):
        return [await anext(messages) for _ in range(count)]


async def test_every_event_of_a_run_is_published_in_order() -> None:
    async with world(s=lambda value, params: "done") as (local, bus, outbox):
        async with bus.subscribe("windlass.run.event") as messages:
            ended = await local.run(FLOW)
            await drain(outbox)
            kept = sorted(local.database.table(Event).values(), key=lambda row: row.seq)
            told = await next_of(messages, len(kept))
        assert [message.id for message in told] == [f"{ended.run.id}:{row.seq}" for row in kept]
        assert told[0].subject == f"windlass.run.event.{ended.run.id}.run_started"
        assert [event.type for event in bus.taken] == [row.type for row in kept]
        assert {(event.tenant, event.schema_version) for event in bus.taken} == {("default", 1)}
        assert effects(local) == []


async def test_a_bus_that_is_away_costs_no_try_and_gets_everything_later() -> None:
    async with world() as (local, bus, outbox):
        bus.error = Unavailable("no route")
        await local.start(FLOW)
        await outbox.run_once()
        [effect] = effects(local)
        assert (effect.kind, effect.tries, effect.state) == (PUBLISH, 0, "waiting")
        bus.error = None
        await asyncio.sleep(1.05)  # left alone for a second
        await drain(outbox)
        assert [event.type for event in bus.taken] == ["run.started"]


async def test_what_the_bus_never_takes_is_a_dead_letter_and_holds_up_nobody() -> None:
    async with world() as (local, bus, outbox):
        bus.error = Unpublishable("too odd")
        await local.start(FLOW)
        outbox._tries_max = 1
        await outbox.run_once()
        [letter] = local.database.table(DeadLetter).values()
        assert (letter.name, letter.failure_class) == (PUBLISH, "Unpublishable")
        bus.error = None
        await local.start(FLOW)
        await drain(outbox)
        assert len(bus.taken) == 1
        lines = await dead_letters.history(local.engine, letter)
        assert lines[0].message == "Unpublishable: too odd"


async def test_what_is_too_large_for_a_bus_is_told_without_its_payload() -> None:
    async with world() as (local, bus, outbox):
        run_id = await local.start(FLOW)
        await local.signal(run_id, "text", "x" * 300_000)
        await drain(outbox)
        told = bus.taken[-1]
        assert (told.payload, told.payload_omitted) == (None, True)


async def test_events_of_a_deleted_run_are_let_go() -> None:
    async with world(s=lambda value, params: "done") as (local, bus, outbox):
        ended = await local.run(FLOW)
        await delete_run(local.engine, ended.run)
        await drain(outbox)
        assert (bus.taken, effects(local)) == ([], [])
