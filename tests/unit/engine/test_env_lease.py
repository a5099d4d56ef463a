"""What is done in a place ends with the lease, and its watch ends with it."""

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import pytest

from windlass.engine.envs import lease
from windlass.engine.feed import Feed

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("steps", range(12))
async def test_what_ends_just_when_its_run_moves_is_over(
    steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def held(*_: object) -> bool:
        return True

    monkeypatch.setattr(lease, "is_still_held", held)
    engine: Any = SimpleNamespace(feed=Feed())
    session: Any = SimpleNamespace(run_id="r", attempt_id="r~a.0@1", id="e")

    async def move() -> None:
        for _ in range(steps):
            await asyncio.sleep(0)
        cast(Feed, engine.feed).runs.wake(["r"])

    async def work() -> str:
        await asyncio.sleep(0.01)
        moving.append(asyncio.ensure_future(move()))
        return "done"

    moving: list[asyncio.Future[None]] = []
    async with asyncio.timeout(5):
        assert await lease.while_held(engine, session, None, work()) == "done"
    await asyncio.gather(*moving)
