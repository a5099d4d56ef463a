"""The stream of all runs: numbered, resumable, honest about what it no longer holds."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any

import msgspec
import pytest

from windlass.engine.engine import Engine
from windlass.model.rows import Event, LogChunk, Run
from windlass.model.states import RunState
from windlass.ports.store import Writes
from windlass.server.api.stream import Hub
from windlass.testing.memory.database import MemoryDatabase
from windlass.testing.memory.store import MemoryStore

pytestmark = pytest.mark.anyio


def commit(hub: Hub, run_id: str, seq: int) -> None:
    run = Run(
        id=run_id,
        version_id="v",
        flow_id="f",
        flow_name="flow",
        state=RunState.RUNNING,
        seq=seq,
        created_at=1,
        updated_at=1,
    )
    event = Event(run_id=run_id, seq=seq, type="x", at=1, data='{"changes":[]}')
    hub.committed(Writes(made={Event: {event.pk: event}}, changed={Run: {run.id: run}}))


def engine() -> Engine:
    return Engine(MemoryStore(MemoryDatabase(lambda: 1_000_000)))


def parse(message: bytes) -> tuple[str, str, Any]:
    fields = dict(line.split(": ", 1) for line in message.decode().strip().splitlines())
    return fields["id"], fields["event"], msgspec.json.decode(fields["data"])


async def next_of(stream: AsyncIterator[bytes]) -> tuple[str, str, Any]:
    return parse(await asyncio.wait_for(anext(stream), 5))


async def test_events_come_in_batches_with_the_run_they_belong_to() -> None:
    hub = Hub(engine())
    stream = hub.read("", asyncio.Event())
    assert (await next_of(stream))[1] == "hello"
    commit(hub, "a", 1)
    commit(hub, "b", 1)
    _, kind, items = await next_of(stream)
    assert kind == "run"
    assert [(item["runId"], item["seq"], item["state"]) for item in items] == [
        ("a", 1, "running"),
        ("b", 1, "running"),
    ]
    await stream.aclose()


async def test_a_reader_that_comes_back_gets_what_it_missed() -> None:
    hub = Hub(engine())
    first = hub.read("", asyncio.Event())
    await next_of(first)
    commit(hub, "a", 1)
    last_id, _, _ = await next_of(first)
    await first.aclose()
    commit(hub, "a", 2)
    commit(hub, "a", 3)
    again = hub.read(last_id, asyncio.Event())
    assert (await next_of(again))[1] == "hello"
    _, _, items = await next_of(again)
    assert [item["seq"] for item in items] == [2, 3]
    await again.aclose()


@pytest.mark.parametrize(
    "last_id", ["other-1", "nonsense", "-", "{boot}-999", "{boot}-x", "{boot}-" + "9" * 5_000]
)
async def test_a_place_nobody_remembers_is_a_reset(last_id: str) -> None:
    hub = Hub(engine())
    stream = hub.read(last_id.format(boot=hub.boot), asyncio.Event())
    assert (await next_of(stream))[1] == "reset"
    await stream.aclose()
    assert not hub._readers


async def test_a_reader_the_ring_has_left_behind_is_told_to_look_again() -> None:
    hub = Hub(engine(), ring_max=5)
    stream = hub.read("", asyncio.Event())
    await next_of(stream)
    for seq in range(1, 20):
        commit(hub, "a", seq)
    assert (await next_of(stream))[1] == "reset"
    await stream.aclose()


async def test_while_nobody_listens_nothing_is_kept() -> None:
    hub = Hub(engine())
    before = f"{hub.boot}-{hub.newest}"
    commit(hub, "a", 1)
    assert hub.resume(before) is None


async def test_commits_of_other_processes_are_a_poke() -> None:
    made = engine()
    hub = Hub(made)
    stream = hub.read("", asyncio.Event())
    await next_of(stream)
    made.feed.wake_all()
    assert (await next_of(stream))[1] == "poke"
    await stream.aclose()


async def test_the_stream_ends_when_the_server_stops() -> None:
    stopping = asyncio.Event()
    stream = Hub(engine()).read("", stopping)
    await next_of(stream)
    stopping.set()
    with pytest.raises(StopAsyncIteration):
        await asyncio.wait_for(anext(stream), 5)


async def test_an_id_of_thousands_of_digits_is_no_place_to_go_on_from() -> None:
    hub = Hub(engine())
    stream = hub.read(f"{hub.boot}-{'9' * 5_000}", asyncio.Event())
    assert (await next_of(stream))[1] == "reset"
    assert len(hub._readers) == 1
    assert isinstance(stream, AsyncGenerator)
    await stream.aclose()
    assert not hub._readers, "and leaves nobody behind"


async def test_what_a_run_logs_is_told_of_to_its_tenant_without_the_text() -> None:
    database = MemoryDatabase(lambda: 1_000_000)
    made = Engine(MemoryStore(database))
    hub = Hub(made)
    run = Run(
        id="a",
        version_id="v",
        flow_id="f",
        flow_name="flow",
        state=RunState.RUNNING,
        created_at=1,
        updated_at=1,
        tenant="mine",
    )
    database.table(Run)["a"] = run
    mine = hub.read("", asyncio.Event(), "mine")
    other = hub.read("", asyncio.Event(), "other")
    assert [(await next_of(stream))[1] for stream in (mine, other)] == ["hello", "hello"]
    said = [
        LogChunk(attempt_id="a~x.1@1", number=n, run_id="a", channel="log", text="secret", at=1)
        for n in range(3)
    ]
    made.feed.committed(Writes(made={LogChunk: {chunk.pk: chunk for chunk in said}}))
    _, kind, items = await next_of(mine)
    assert (kind, items) == ("log", [{"runId": "a"}])
    commit(hub, "b", 1)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(anext(other), 0.2)
