"""Readiness notices an engine that stands still; a process that answers is not enough."""

import asyncio
from typing import Any

import pytest
from msgspec.structs import replace

from tests.unit.server.audit import WAITS, api

pytestmark = pytest.mark.anyio


async def test_an_engine_that_commits_nothing_for_a_while_is_not_ready(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with api() as said:
        engine = said.local.engine
        engine.settings = replace(engine.settings, behind_s_max=0.05)
        commit, over = engine.advance._commit, asyncio.Event()

        async def standing_still(jobs: Any, *, locked: bool) -> Any:
            await over.wait()
            return await commit(jobs, locked=locked)

        assert (await said.http.get("/readyz")).status_code == 200
        monkeypatch.setattr(engine.advance, "_commit", standing_still)
        starting = asyncio.ensure_future(said.local.start(WAITS))
        async with asyncio.timeout(5):
            while (told := await said.http.get("/readyz")).status_code == 200:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        assert (told.status_code, "nothing was committed" in told.text) == (503, True)
        assert (await said.http.get("/healthz")).status_code == 200
        over.set()
        await starting
        assert (await said.http.get("/readyz")).status_code == 200
