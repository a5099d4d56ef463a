"""A thread does one thing after the other, and whoever asked hears how it went."""

import asyncio
import threading
from functools import partial

import pytest

from windlass.drivers.sql.work_thread import WorkThread

pytestmark = pytest.mark.anyio


async def test_it_answers_in_order_and_raises_what_was_raised() -> None:
    thread = WorkThread("test-thread")
    done: list[int] = []

    def fail() -> None:
        raise ValueError("no")

    answers = [asyncio.ensure_future(thread.do(partial(done.append, n))) for n in range(9)]
    with pytest.raises(ValueError, match="no"):
        await thread.do(fail)
    await asyncio.gather(*answers)
    assert done == list(range(9))
    assert await thread.do(lambda: threading.current_thread().name) == "test-thread"
    thread.close()


async def test_who_is_cancelled_hears_nothing_and_the_next_is_served() -> None:
    thread = WorkThread("test-thread")
    began, go_on = threading.Event(), threading.Event()

    def wait() -> None:
        began.set()
        assert go_on.wait(10)

    first = asyncio.ensure_future(thread.do(wait))
    await asyncio.to_thread(began.wait, 10)
    first.cancel()
    go_on.set()
    assert await thread.do(lambda: 7) == 7
    with pytest.raises(asyncio.CancelledError):
        await first
    thread.close()


def test_it_does_what_is_left_before_it_ends_whoever_has_gone() -> None:
    thread = WorkThread("test-thread")
    done: list[str] = []

    began, go_on = threading.Event(), threading.Event()

    def wait() -> None:
        began.set()
        assert go_on.wait(10)
        done.append("asked by a loop")

    async def leave() -> None:
        asyncio.ensure_future(thread.do(wait))  # noqa: RUF006
        await asyncio.to_thread(began.wait, 10)

    asyncio.run(leave())
    go_on.set()
    answer = thread.submit(lambda: done.append("asked by a thread"))
    assert answer.result(10) is None
    failing = thread.submit(lambda: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        failing.result(10)
    thread.close()
    assert done == ["asked by a loop", "asked by a thread"]
    with pytest.raises(RuntimeError, match="has ended"):
        thread.submit(lambda: None)


async def test_what_nobody_waits_for_any_more_is_not_begun() -> None:
    thread = WorkThread("test-thread")
    go_on, done = threading.Event(), list[str]()
    first = asyncio.ensure_future(thread.do(lambda: go_on.wait(10)))
    second = asyncio.ensure_future(thread.do(lambda: done.append("second")))
    await asyncio.sleep(0)
    second.cancel()
    await asyncio.sleep(0)
    go_on.set()
    assert await first
    await thread.do(lambda: done.append("third"))
    thread.close()
    assert done == ["third"]
