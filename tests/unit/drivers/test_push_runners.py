"""The runners of push workers: none dies unseen."""

import asyncio

import pytest

from windlass.drivers.dispatch.push import PushDispatcher
from windlass.drivers.dispatch.runner import Runner
from windlass.engine.attempts import Attempts
from windlass.model.rows import Worker
from windlass.testing.local import local_engine

pytestmark = pytest.mark.anyio


async def test_a_runner_that_dies_is_told_of_and_another_begins(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    worker = Worker(id="w", url="http://127.0.0.1:1", services='["s"]', registered_at=1, seen_at=1)

    async def live() -> list[Worker]:
        return [worker]

    begun: list[Runner] = []

    async def run(runner: Runner) -> None:
        begun.append(runner)
        if len(begun) == 1:
            raise KeyError("ours")
        await asyncio.Event().wait()

    async with local_engine({}) as local:
        await asyncio.sleep(0)  # it has runners of its own
        monkeypatch.setattr(Runner, "run", run)
        push = PushDispatcher(
            Attempts(local.engine), live, holder="here", slots=1, reply_bytes_max=1_000
        )
        await push.run_once()
        await asyncio.sleep(0)
        with pytest.raises(KeyError):
            await push.run_once()
        await asyncio.sleep(0)
        assert len(begun) == 2
        assert await push.run_once() == 0
        await push.close()
