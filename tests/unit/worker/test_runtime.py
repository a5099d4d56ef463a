"""What becomes of a call: one outcome, whatever the handler does."""

import asyncio
import math
import threading
import time
from dataclasses import dataclass
from typing import Any

import msgspec
import pytest

from windlass.worker import Context, PermanentError, ServiceError, TemporaryError, Worker
from windlass.worker.context import Stop
from windlass.worker.outcome import Outcome
from windlass.worker.runtime import Call, Runtime

pytestmark = pytest.mark.anyio


async def perform(handler: Any, given: Any = None, **more: Any) -> Outcome:
    worker = Worker()
    worker.add("s", handler)
    runtime = Runtime(worker, 4)
    context = more.pop("context", None) or Context(attempt_id="a@1")
    ended: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
    runtime.start(
        Call(more.pop("service", "s"), context, given, **more),
        lambda _, outcome: ended.set_result(outcome),
    )
    outcome = await ended
    assert runtime.load == 0
    runtime.close()
    return outcome


def kind_of(outcome: Outcome) -> tuple[str, str]:
    assert outcome.fault is not None
    return outcome.fault.kind, outcome.fault.message


async def test_sync_handlers_run_in_a_thread_and_async_ones_on_the_loop() -> None:
    here = threading.get_ident()

    async def on_loop() -> bool:
        return threading.get_ident() == here

    assert (await perform(lambda: threading.get_ident() != here)).output == msgspec.Raw(b"true")
    assert (await perform(on_loop)).output == msgspec.Raw(b"true")


@dataclass
class Page:
    url: str


class Modelled:
    def model_dump(self, *, mode: str) -> dict[str, str]:
        return {"mode": mode}


async def test_results_are_written_as_json_whatever_their_class() -> None:
    assert (await perform(lambda: Page("u"))).output == msgspec.Raw(b'{"url":"u"}')
    assert (await perform(lambda: Modelled())).output == msgspec.Raw(b'{"mode":"json"}')
    assert (await perform(lambda: None)).output == msgspec.Raw(b"null")


async def test_a_result_without_json_form_is_a_fatal_fault() -> None:
    kind, message = kind_of(await perform(lambda: object()))
    assert kind == "fatal"
    assert "cannot be sent as JSON" in message


@pytest.mark.parametrize("value", [math.nan, {"a": [1, -math.inf]}, (None, {math.inf})])
async def test_a_result_with_a_float_that_json_lacks_is_a_fatal_fault(value: Any) -> None:
    kind, message = kind_of(await perform(lambda: value))
    assert kind == "fatal"
    assert "is no number in JSON" in message


def raising(error: BaseException) -> Any:
    def handler() -> None:
        raise error

    return handler


async def test_errors_say_whether_another_try_makes_sense() -> None:
    assert kind_of(await perform(raising(PermanentError("no")))) == ("fatal", "no")
    assert kind_of(await perform(raising(ServiceError("bad input")))) == ("failed", "bad input")
    assert kind_of(await perform(raising(KeyError("k")))) == ("failed", "KeyError: 'k'")
    assert kind_of(await perform(raising(SystemExit(3)))) == ("failed", "SystemExit: 3")
    later = await perform(raising(TemporaryError("busy", 1.5)))
    assert later.fault is not None
    assert later.fault.retry_after_ms == 1500


async def test_a_traceback_stays_with_the_attempts_log() -> None:
    context = Context(attempt_id="a@1")
    outcome = await perform(raising(RuntimeError("boom")), context=context)
    assert kind_of(outcome) == ("failed", "RuntimeError: boom")
    assert "Traceback" in context.log_text


async def test_an_unknown_service_is_fatal() -> None:
    assert kind_of(await perform(lambda: 1, service="t"))[0] == "fatal"


async def test_a_stop_from_another_thread_ends_an_async_handler() -> None:
    context = Context(attempt_id="a@1")

    async def slow() -> None:
        await asyncio.sleep(60)

    threading.Timer(0.02, context.stop, [Stop.CANCELLED]).start()
    assert kind_of(await perform(slow, context=context))[0] == "cancelled"


async def test_a_sync_handler_sees_that_it_should_stop() -> None:
    context = Context(attempt_id="a@1")

    def slow(ctx: Context) -> None:
        while True:
            ctx.check()
            time.sleep(0.005)

    threading.Timer(0.02, context.stop, [Stop.CANCELLED]).start()
    assert kind_of(await perform(slow, context=context))[0] == "cancelled"


async def test_a_handler_that_runs_out_of_time_is_ended() -> None:
    async def slow(ctx: Context) -> None:
        while True:
            await ctx.heartbeat(0.5)
            await asyncio.sleep(0.001)

    assert kind_of(await perform(slow, timeout_ms=20))[0] == "timeout"


async def test_time_counts_from_when_the_handler_begins() -> None:
    worker = Worker()

    @worker.service("s", concurrency=1)
    async def nap() -> None:
        await asyncio.sleep(0.04)

    runtime = Runtime(worker, 4)
    ended: list[Outcome] = []
    all_ended = asyncio.Event()

    def note(_: Call, outcome: Outcome) -> None:
        ended.append(outcome)
        if len(ended) == 4:
            all_ended.set()

    for number in range(4):
        runtime.start(Call("s", Context(attempt_id=f"a@{number}"), timeout_ms=80), note)
    await all_ended.wait()
    assert [outcome.fault for outcome in ended] == [None] * 4


async def test_a_handler_that_leaks_a_cancellation_of_its_own_has_failed() -> None:
    async def leaky() -> None:
        raise asyncio.CancelledError

    assert kind_of(await perform(leaky))[0] == "failed"


async def test_a_service_runs_no_more_calls_at_once_than_it_allows() -> None:
    running, most = 0, 0
    worker = Worker()

    @worker.service("s", concurrency=2)
    async def count() -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.01)
        running -= 1

    runtime = Runtime(worker, 10)
    ended: list[Outcome] = []
    all_ended = asyncio.Event()

    def note(_: Call, outcome: Outcome) -> None:
        ended.append(outcome)
        if len(ended) == 6:
            all_ended.set()

    for number in range(6):
        call = Call("s", Context(attempt_id=f"a@{number}"))
        runtime.start(call, note)
    await asyncio.sleep(0.005)
    assert runtime.room == {"s": 0}
    await all_ended.wait()
    assert (most, len(ended)) == (2, 6)
    assert runtime.room == {"s": 2}


def test_a_context_keeps_a_bounded_log() -> None:
    context = Context()
    for _ in range(3):
        context.log("x" * 40_000)
    assert 64 * 1024 < len(context.log_text) < 66 * 1024
    assert "left out" in context.log_text
