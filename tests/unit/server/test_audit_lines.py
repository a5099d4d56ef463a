"""Who did what is written down in the commit that does it, or not at all."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from windlass.drivers.blobs.files import FileBlobs
from windlass.engine.attempts import Attempts
from windlass.model.access import Audit
from windlass.model.rows import Failure
from windlass.server.app import AppOptions, create_app
from windlass.server.commands import Commands
from windlass.server.link.plane import LinkPlane, LinkSettings
from windlass.testing.local import LocalEngine, local_engine

pytestmark = pytest.mark.anyio

WAITS: dict[str, Any] = {
    "start": "a",
    "nodes": {"a": {"kind": "wait_event", "params": {"signal_key": "$shared.go"}}},
    "edges": [],
}
ASKS: dict[str, Any] = {
    "start": "a",
    "nodes": {"a": {"kind": "approval", "params": {"approval_key": "$shared.ok"}}},
    "edges": [],
}
CALLS: dict[str, Any] = {
    "start": "a",
    "nodes": {"a": {"exec_type": "queue", "service": "s", "max_retries": 0}},
    "edges": [],
}


class Said:
    """An API over an engine in memory, and how many commits a call to it takes."""

    def __init__(self, local: LocalEngine, http: httpx.AsyncClient) -> None:
        self.local = local
        self._http = http

    async def act(self, path: str, body: object) -> tuple[int, list[str]]:
        """The commits of a call, and the actions it left in the audit trail."""
        before = self.local.database.commits
        known = set(self.local.database.table(Audit))
        answer = await self._http.post(f"/api/v1/{path}", json=body)
        assert answer.status_code < 400, answer.text
        lines = self.local.database.table(Audit)
        actions = [row.action for key, row in lines.items() if key not in known]
        return self.local.database.commits - before, actions


@asynccontextmanager
async def api() -> AsyncIterator[Said]:
    async with local_engine({}) as local:
        engine, attempts = local.engine, Attempts(local.engine)
        link = LinkPlane(engine, attempts, LinkSettings())
        app = create_app(
            engine,
            attempts,
            AppOptions(auth_required=False),
            link=link,
            commands=Commands(engine, link),
            blobs=FileBlobs(Path("/nonexistent")),
        )
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as http:
            yield Said(local, http)


async def test_a_signal_a_cancel_and_their_lines_are_one_commit_each() -> None:
    async with api() as said:
        run = await said.local.start(WAITS)
        assert await said.act(f"runs/{run}/signal", {"key": "x", "value": 1}) == (1, ["run.signal"])
        assert await said.act(f"runs/{run}/cancel", {}) == (1, ["run.cancel"])


async def test_an_answer_and_its_line_are_one_commit() -> None:
    async with api() as said:
        run = await said.local.start(ASKS)
        done = await said.act(f"checkpoints/{run}/resolve", {"answer": "approved"})
        assert done == (1, ["checkpoint.answer"])


async def test_a_retry_and_its_line_are_one_commit() -> None:
    async with api() as said:
        run = await said.local.start(CALLS)
        work = Attempts(said.local.engine)
        [given] = await work.claim("w", ["pull:s"], 1, 5)
        await work.failed(given.attempt_id, Failure("failed", "no"))
        assert await said.act(f"runs/{run}/retry", {}) == (1, ["run.retry"])


async def test_a_version_and_its_line_are_one_commit_and_the_same_again_is_none() -> None:
    async with api() as said:
        assert (await said.act("flows/f/versions", {"definition": WAITS}))[1] == ["flow.publish"]
        assert await said.act("flows/f/versions", {"definition": ASKS}) == (1, ["flow.publish"])
        assert await said.act("flows/f/versions", {"definition": ASKS}) == (0, [])
