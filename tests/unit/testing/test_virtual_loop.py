"""Virtual time and simulated processes: jumping, dropping, pausing, getting stuck."""

import asyncio
import random
import time
from collections.abc import Iterator

import pytest

from windlass.testing.simulator.loop import Spinning, Stuck, VirtualLoop
from windlass.testing.simulator.process import Process


@pytest.fixture
def loop() -> Iterator[VirtualLoop]:
    loop = VirtualLoop()
    yield loop
    loop.end()


def test_sleeping_takes_no_time(loop: VirtualLoop) -> None:
    began = time.monotonic()
    loop.run_until_complete(asyncio.sleep(86_400))
    assert loop.time() == 86_400
    assert time.monotonic() - began < 1


def test_timeouts_come_in_virtual_time(loop: VirtualLoop) -> None:
    async def wait() -> str:
        try:
            async with asyncio.timeout(5):
                await asyncio.Event().wait()
        except TimeoutError:
            return "late"
        return "never"

    assert loop.run_until_complete(wait()) == "late"
    assert loop.time() == 5


def test_a_crash_runs_no_cleanup(loop: VirtualLoop) -> None:
    story: list[str] = []

    async def work() -> None:
        try:
            await asyncio.sleep(1)
            story.append("worked")
        finally:
            story.append("cleaned up")

    async def main() -> list[str]:
        process = Process(loop, "p")
        process.spawn(work())
        await asyncio.sleep(0.5)
        process.crash()
        await asyncio.sleep(5)
        return list(story)

    assert loop.run_until_complete(main()) == []


def test_a_paused_process_goes_on_where_it_was(loop: VirtualLoop) -> None:
    ticks: list[float] = []

    async def tick() -> None:
        while True:
            await asyncio.sleep(1)
            ticks.append(loop.time())

    async def main() -> None:
        process = Process(loop, "p")
        process.spawn(tick())
        await asyncio.sleep(2.5)
        process.pause()
        await asyncio.sleep(5)
        process.resume()
        await asyncio.sleep(1.2)

    loop.run_until_complete(main())
    assert ticks == [1, 2, 7.5, 8.5]


def test_what_a_process_starts_belongs_to_it(loop: VirtualLoop) -> None:
    done: list[str] = []

    async def child() -> None:
        await asyncio.sleep(1)
        done.append("child")

    async def parent() -> None:
        task = asyncio.ensure_future(child())
        await task

    async def main() -> None:
        process = Process(loop, "p")
        process.spawn(parent())
        await asyncio.sleep(0.1)
        assert len(process.tasks) == 2
        process.crash()
        await asyncio.sleep(5)

    loop.run_until_complete(main())
    assert done == []


def test_a_world_where_nothing_can_happen_is_stuck(loop: VirtualLoop) -> None:
    async def wait() -> None:
        await asyncio.Event().wait()

    with pytest.raises(Stuck):
        loop.run_until_complete(wait())


def test_a_world_that_goes_round_in_circles_is_stopped(loop: VirtualLoop) -> None:
    async def spin() -> None:
        for _ in range(10**9):
            await asyncio.sleep(0)

    with pytest.raises(Spinning):
        loop.run_until_complete(spin())


def test_shuffling_changes_the_order_and_follows_its_seed() -> None:
    def order(seed: int) -> list[int]:
        loop = VirtualLoop(random.Random(seed))
        seen: list[int] = []

        async def note(number: int) -> None:
            await asyncio.sleep(1)
            seen.append(number)

        async def main() -> None:
            await asyncio.gather(*(note(number) for number in range(20)))

        loop.run_until_complete(main())
        loop.end()
        return seen

    assert order(1) == order(1) != order(2)
    assert sorted(order(1)) == list(range(20))
