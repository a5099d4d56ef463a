"""Whoever stops waiting gets what a commit under way gives, if he is still there to take it."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from windlass.engine.attempts import Attempts
from windlass.model.rows import Attempt
from windlass.testing.local import LocalEngine, local_engine

pytestmark = pytest.mark.anyio
NODE: dict[str, Any] = {"exec_type": "queue", "service": "make"}


class SlowCommit:
    """Holds up the first commit that hands out an attempt, until it is let go."""

    def __init__(self, local: LocalEngine, monkeypatch: pytest.MonkeyPatch) -> None:
        self.under_way = asyncio.Event()
        self.let_go = asyncio.Event()
        store = local.engine.advance.store
        plain = store.session

        @asynccontextmanager
        async def session() -> AsyncGenerator[Any]:
            async with plain() as found:
                save = found.save

                async def slow(writes: Any) -> None:
                    if writes.made.get(Attempt):
                        self.under_way.set()
                        await self.let_go.wait()
                    await save(writes)

                monkeypatch.setattr(found, "save", slow, raising=False)
                yield found

        monkeypatch.setattr(store, "session", session)


async def test_a_wait_that_ends_during_a_commit_gets_what_it_gives(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with local_engine({}) as local:
        attempts = Attempts(local.engine)
        commit = SlowCommit(local, monkeypatch)
        run_id = await local.start({"start": "a", "nodes": {"a": NODE}})
        waiting = attempts.want("w", ["pull:make"], 1)
        await commit.under_way.wait()
        leaving = asyncio.ensure_future(waiting.leave())
        for _ in range(5):
            await asyncio.sleep(0)
        assert not leaving.done()
        commit.let_go.set()
        [given] = await leaving
        [row] = local.database.of_run(Attempt, run_id)
        assert (given.attempt_id, given.number, row.state) == (row.id, 1, "claimed")


async def test_what_is_given_to_somebody_who_is_gone_goes_back_to_its_queue(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with local_engine({}) as local:
        attempts = Attempts(local.engine)
        commit = SlowCommit(local, monkeypatch)
        await local.start({"start": "a", "nodes": {"a": NODE}})
        waiting = attempts.want("w", ["pull:make"], 1)
        await commit.under_way.wait()
        assert waiting.withdraw() == []
        commit.let_go.set()
        [given] = await attempts.claim("w2", ["pull:make"], 1, 5.0)
        assert given.number == 2


async def test_who_leaves_with_nothing_on_its_way_waits_for_no_pass() -> None:
    async with local_engine({}) as local:
        waiting = Attempts(local.engine).want("w", ["pull:make"], 1)
        local.engine.advance.pass_over.clear()
        async with asyncio.timeout(1):
            assert await waiting.leave() == []
