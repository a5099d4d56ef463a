"""Locks of changes: one at a time for the same key, others beside it, nothing kept afterwards."""

import asyncio

import pytest

from windlass.engine.change_locks import ChangeLocks
from windlass.model.errors import Conflict

pytestmark = pytest.mark.anyio


async def test_the_same_key_is_had_by_one_at_a_time_and_another_meanwhile() -> None:
    locks, inside, most = ChangeLocks(), 0, 0

    async def take(key: str) -> None:
        nonlocal inside, most
        async with locks.of(key):
            inside += key == "same"
            most = max(most, inside)
            await asyncio.sleep(0)
            inside -= key == "same"

    async with locks.of("held"):
        await asyncio.wait_for(asyncio.gather(*(take("same") for _ in range(20))), 5)
    assert most == 1
    assert len(locks) == 0


async def test_a_lock_given_up_or_broken_off_is_the_next_ones() -> None:
    locks = ChangeLocks()

    async def had() -> str:
        return "had"

    async def broken() -> None:
        async with locks.of("k"):
            waiting = asyncio.ensure_future(locks.make("k", had))
            await asyncio.sleep(0)
            waiting.cancel()
            raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        await broken()
    assert await locks.make("k", had) == "had"
    await asyncio.sleep(0)  # whoever gave up is told in the loop's next round
    assert len(locks) == 0


async def test_what_somebody_elsewhere_makes_at_the_same_moment_is_looked_for_again() -> None:
    tries: list[int] = []

    async def attempt() -> str:
        tries.append(1)
        if len(tries) < 3:
            raise Conflict("the same is made in this very moment")
        return "found"

    async def never() -> str:
        raise Conflict("taken for good")

    assert await ChangeLocks().make("k", attempt) == "found"
    with pytest.raises(Conflict, match="for good"):
        await ChangeLocks().make("k", never)
