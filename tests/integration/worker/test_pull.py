"""The pull worker against a server that misbehaves."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any

import anyio
import pytest

from tests.integration.worker.fake_server import FakeServer, serving
from windlass.model.errors import Denied
from windlass.worker import Context, Worker, pull
from windlass.worker.builtin import worker as builtin
from windlass.worker.pull import PullLoop
from windlass.worker.runtime import Runtime
from windlass.worker.serve import pull_loop
from windlass.worker.settings import WorkerSettings

pytestmark = pytest.mark.anyio


@pytest.fixture
def fake() -> FakeServer:
    return FakeServer()


@pytest.fixture
def url(fake: FakeServer) -> Iterator[str]:
    with serving(fake) as found:
        yield found


@contextlib.asynccontextmanager
async def running(
    url: str, worker: Worker = builtin, *, concurrency: int = 8, drain_s: float = 5
) -> AsyncIterator[PullLoop]:
    settings = WorkerSettings(server=url, id="w-1", concurrency=concurrency)
    runtime = Runtime(worker, concurrency)
    loop = pull_loop(worker, runtime, settings)
    async with anyio.create_task_group() as group:
        group.start_soon(loop.run, drain_s)
        try:
            yield loop
        finally:
            loop.stop()
    runtime.close()


async def until(fake: FakeServer, condition: Any, timeout_s: float = 10) -> None:
    await asyncio.to_thread(fake.wait_for, condition, timeout_s)


async def test_attempts_are_done_and_their_results_accepted(fake: FakeServer, url: str) -> None:
    attempts = [fake.attempt("transform", n, params={"mul": 3}) for n in range(500)]
    async with running(url, concurrency=64):
        fake.offer(*attempts)
        await until(fake, lambda: len(fake.accepted) == 500)
    outputs = [fake.accepted[a["attemptId"]]["output"] for a in attempts]
    assert outputs == [3 * n for n in range(500)]
    assert fake.registrations[0]["capacity"] == 64
    assert fake.batch_max > 8
    assert fake.left == ["w-1"]


async def test_a_chain_of_short_steps_costs_one_request_a_step(fake: FakeServer, url: str) -> None:
    steps = 0

    def next_step(attempt: dict[str, Any], result: dict[str, Any]) -> list[dict[str, Any]]:
        nonlocal steps
        steps += 1
        return [fake.attempt("transform", 1)] if steps < 200 else []

    fake.follow_up = next_step
    async with running(url):
        fake.offer(fake.attempt("transform", 1))
        await until(fake, lambda: len(fake.accepted) == 200)
    assert fake.exchanges < 230


async def test_errors_travel_in_words(fake: FakeServer, url: str) -> None:
    attempt = fake.attempt("transform", None)
    async with running(url):
        fake.offer(attempt)
        await until(fake, lambda: len(fake.accepted) == 1)
    error = fake.accepted[attempt["attemptId"]]["error"]
    assert error == {"kind": "failed", "message": "bad input"}


async def test_a_result_whose_receipt_was_lost_is_sent_again_and_counts_once(
    fake: FakeServer, url: str
) -> None:
    fake.cut_after_commit = 2
    async with running(url):
        fake.offer(fake.attempt("transform", 1))
        await until(fake, lambda: [s for _, s in fake.statuses] == ["accepted", *["duplicate"] * 2])
    assert len(fake.accepted) == 1


async def test_a_stale_result_is_dropped(fake: FakeServer, url: str) -> None:
    attempt = fake.attempt("transform", 1)
    async with running(url):
        fake.offer({**attempt, "token": "old"})
        fake.held.clear()
        await until(fake, lambda: attempt["attemptId"] in fake.held or fake.statuses)
        await until(fake, lambda: fake.statuses)
    assert len(fake.statuses) == 1


async def test_results_outlive_a_server_that_is_down_for_a_while(
    fake: FakeServer, url: str
) -> None:
    worker = Worker()
    gate = asyncio.Event()

    @worker.service("gated")
    async def gated() -> str:
        await gate.wait()
        return "late"

    async with running(url, worker):
        fake.offer(fake.attempt("gated"))
        await until(fake, lambda: fake.held)
        fake.down = True
        gate.set()
        await asyncio.sleep(0.3)
        assert not fake.accepted
        fake.down = False
        await until(fake, lambda: fake.accepted)


async def test_a_server_that_forgot_the_worker_gets_it_registered_again(
    fake: FakeServer, url: str
) -> None:
    async with running(url):
        await until(fake, lambda: fake.known)
        fake.known.clear()
        fake.heartbeat_s = 0.1
        fake.wake()
        fake.offer(fake.attempt("transform", 1))
        await until(fake, lambda: fake.accepted)
    assert len(fake.registrations) >= 2


async def test_a_blocked_loop_keeps_its_leases() -> None:
    fake = FakeServer(lease_s=1.0)
    worker = Worker()

    @worker.service("blocking")
    async def blocking(ctx: Context) -> bool:
        time.sleep(2.5)  # noqa: ASYNC251  the very thing a handler should not do
        return ctx.cancelled

    attempt = fake.attempt("blocking")
    with serving(fake) as url:
        async with running(url, worker):
            fake.offer(attempt)
            await until(fake, lambda: fake.accepted)
    assert fake.renewed.count(attempt["attemptId"]) >= 5
    assert fake.accepted[attempt["attemptId"]]["output"] is False


async def test_a_lease_that_cannot_be_renewed_stops_the_handler_and_silences_it() -> None:
    fake = FakeServer(lease_s=1.0)
    worker = Worker()
    stopped_after: list[float] = []

    @worker.service("slow")
    async def slow() -> None:
        began = time.monotonic()
        try:
            await asyncio.sleep(30)
        finally:
            stopped_after.append(time.monotonic() - began)

    with serving(fake) as url:
        async with running(url, worker):
            fake.offer(fake.attempt("slow"))
            await until(fake, lambda: fake.held)
            fake.down = True
            await until(fake, lambda: stopped_after)
            fake.down = False
            fake.offer(fake.attempt("nope"))
            await until(fake, lambda: fake.statuses)
    assert stopped_after[0] < 1.0
    assert [s for a, s in fake.statuses if "slow" in a] == []


async def test_a_cancelled_attempt_is_stopped_and_given_back() -> None:
    fake = FakeServer(lease_s=1.0)
    worker = Worker()

    @worker.service("slow")
    async def slow() -> None:
        await asyncio.sleep(30)

    attempt = fake.attempt("slow")
    with serving(fake) as url:
        async with running(url, worker):
            fake.offer(attempt)
            await until(fake, lambda: fake.held)
            fake.cancel.add(attempt["attemptId"])
            await until(fake, lambda: fake.accepted)
    assert fake.accepted[attempt["attemptId"]]["error"]["kind"] == "cancelled"


async def test_a_lost_attempt_is_stopped_and_not_reported() -> None:
    fake = FakeServer(lease_s=1.0)
    worker = Worker()
    ended = asyncio.Event()

    @worker.service("slow")
    async def slow() -> None:
        try:
            await asyncio.sleep(30)
        finally:
            ended.set()

    attempt = fake.attempt("slow")
    with serving(fake) as url:
        async with running(url, worker):
            fake.offer(attempt)
            await until(fake, lambda: fake.held)
            fake.lost.add(attempt["attemptId"])
            await ended.wait()
    assert fake.statuses == []


async def test_one_result_the_server_cannot_take_does_not_hold_up_the_others(
    fake: FakeServer, url: str
) -> None:
    worker = Worker()

    @worker.service("grow")
    async def grow(size: int) -> str:
        return "x" * size

    fake.refuse_larger_than = 100_000
    attempts = [fake.attempt("grow", size) for size in (10, 200_000, 20, 30)]
    async with running(url, worker):
        fake.offer(*attempts)
        await until(fake, lambda: len(fake.accepted) == 4)
    kinds = [fake.accepted[a["attemptId"]].get("error", {}).get("kind") for a in attempts]
    assert kinds == [None, "fatal", None, None]


async def test_draining_lets_running_work_end_and_takes_no_more(fake: FakeServer, url: str) -> None:
    worker = Worker()

    @worker.service("brief")
    async def brief() -> str:
        await asyncio.sleep(0.3)
        return "done"

    async with running(url, worker) as loop:
        fake.offer(fake.attempt("brief"))
        await until(fake, lambda: fake.held and fake.exchanges > 1)
        loop.stop()
        await until(fake, lambda: fake.ended)
        fake.offer(fake.attempt("brief"))
    assert [r["output"] for r in fake.accepted.values()] == ["done"]
    assert len(fake.ready) == 1
    assert fake.left == ["w-1"]


async def test_what_comes_while_a_worker_stops_is_given_back_unbegun(
    fake: FakeServer, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = Worker()
    begun: list[str] = []

    @worker.service("brief")
    async def brief(name: str) -> None:
        begun.append(name)
        await asyncio.sleep(0.2)

    monkeypatch.setattr(pull, "CALL_OFF_S", 20.0)
    fake.deaf = True
    late = fake.attempt("brief", "late")
    async with running(url, worker) as loop:
        fake.offer(fake.attempt("brief", "early"))
        await until(fake, lambda: fake.held and fake.exchanges > 1)
        loop.stop()
        fake.offer(late)
    assert begun == ["early"]
    assert fake.accepted[late["attemptId"]]["error"]["kind"] == "cancelled"
    assert fake.left == ["w-1"]


async def test_a_request_nobody_ends_is_dropped(fake: FakeServer, url: str) -> None:
    fake.deaf = True
    async with running(url) as loop:
        await until(fake, lambda: fake.exchanges)
        loop.stop()
        began = time.monotonic()
    assert time.monotonic() - began < 5
    assert fake.left == ["w-1"]


async def test_what_does_not_end_in_time_is_given_back(fake: FakeServer, url: str) -> None:
    worker = Worker()
    gave_up: list[bool] = []

    @worker.service("endless")
    async def endless() -> None:
        await asyncio.sleep(60)

    @worker.service("deaf")
    def deaf() -> None:
        time.sleep(3)
        gave_up.append(True)

    async with running(url, worker, drain_s=0.1) as loop:
        fake.offer(fake.attempt("endless"), fake.attempt("deaf"))
        await until(fake, lambda: len(fake.held) == 2)
        await asyncio.sleep(0.05)
        loop.stop()
    assert {r["error"]["kind"] for r in fake.accepted.values()} == {"cancelled"}
    assert len(fake.accepted) == 2
    assert gave_up == []


async def test_a_server_that_turns_the_worker_away_ends_it() -> None:
    async def forbidding(scope: Any, receive: Any, send: Any) -> None:
        body = b'{"title":"Forbidden","status":403,"detail":"the token may not do this"}'
        headers = [(b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": 403, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    with serving(forbidding) as url:
        settings = WorkerSettings(server=url, id="w-1")
        runtime = Runtime(builtin, 1)
        with pytest.raises(Denied, match="may not"):
            await pull_loop(builtin, runtime, settings).run(1)
        runtime.close()
