"""Loops fail in the open: logged, counted, tried again, and seen by whoever asks."""

import asyncio

import pytest

from windlass.engine.loops.forever import Duties, Duty, PassedOver, restarted, run_forever
from windlass.model.errors import BadRequest, Unavailable

pytestmark = pytest.mark.anyio


class Stumbling:
    """A loop whose first passes fail, each in its own way."""

    def __init__(self, *errors: Exception) -> None:
        self._errors = list(errors)
        self.well = asyncio.Event()

    async def run_once(self) -> int:
        if self._errors:
            raise self._errors.pop(0)
        self.well.set()
        return 0

    async def pause(self) -> None:
        await asyncio.sleep(0.01)


async def test_a_loop_goes_on_after_any_failure_and_says_how_often_it_failed() -> None:
    loop, duty = Stumbling(KeyError("x"), Unavailable("away", 0.01), OSError("disk")), Duty("d")
    task = asyncio.ensure_future(run_forever(loop, duty))
    async with asyncio.timeout(5):
        await loop.well.wait()
    await asyncio.sleep(0)
    assert duty.failures == 3
    assert duty.failing_s == 0
    task.cancel()


async def test_what_fails_for_long_is_named() -> None:
    duties = Duties()
    duties.of("Good").went_well()
    bad = duties.of("Bad")
    assert bad.failed(KeyError("x")) < bad.failed(KeyError("y")) <= 5
    await asyncio.sleep(0.002)
    assert [duty.name for duty in duties.failing(0.001)] == ["Bad"]
    assert "KeyError" in bad.error
    assert duties.failing(60) == []


async def test_what_ends_with_an_error_is_begun_again_and_what_ends_well_is_not() -> None:
    begun = 0

    async def work() -> None:
        nonlocal begun
        begun += 1
        if begun < 3:
            raise RuntimeError("broken")

    duty = Duty("d")
    await asyncio.wait_for(restarted(work, duty), 5)
    assert (begun, duty.failures) == (3, 2)


async def test_what_fails_whenever_it_is_begun_is_failing_all_the_while() -> None:
    duty, begun = Duty("d"), asyncio.Semaphore(0)

    async def work() -> None:
        begun.release()
        raise RuntimeError("broken")

    task = asyncio.ensure_future(restarted(work, duty))
    async with asyncio.timeout(5):
        for _ in range(3):
            await begun.acquire()
    await asyncio.sleep(0)
    assert duty.failures == 3
    assert duty.failing_s > 0.5, "since the first of them, each later than the one before"
    task.cancel()


def test_refused_items_are_passed_over_until_the_next_look() -> None:
    passed = PassedOver(1_000)
    assert passed.count(10_000) == 0
    passed.add([None, BadRequest("no"), BadRequest("no")])
    assert passed.count(10_500) == 2
    assert passed.count(12_000) == 0, "everything is tried again now and then"
