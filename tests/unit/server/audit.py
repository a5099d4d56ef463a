"""An API over an engine in memory, for tests of what its calls leave in the audit trail."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx

from windlass.drivers.blobs.files import FileBlobs
from windlass.engine.attempts import Attempts
from windlass.model.access import Audit
from windlass.model.rows import Failure
from windlass.server.app import AppOptions, create_app
from windlass.server.commands import Commands
from windlass.server.link.plane import LinkPlane, LinkSettings
from windlass.testing.local import LocalEngine, local_engine

Json = dict[str, Any]
WAITS: Json = {
    "start": "a",
    "nodes": {"a": {"kind": "wait_event", "params": {"signal_key": "$shared.go"}}},
    "edges": [],
}
ASKS: Json = {
    "start": "a",
    "nodes": {"a": {"kind": "approval", "params": {"approval_key": "$shared.ok"}}},
    "edges": [],
}
CALLS: Json = {
    "start": "a",
    "nodes": {"a": {"exec_type": "queue", "service": "s", "max_retries": 0}},
    "edges": [],
}
NO_LINE = {
    "POST /api/v1/flows/validate": "changes nothing",
    "POST /api/v1/runs": "the run is the record",
    "POST /tasks": "the run is the record",
    "POST /orchestration/runs": "the run is the record",
    "POST /tasks/run_once": "changes nothing",
    "PUT /api/v1/resources/uploads/{upload_id}/parts/{number}": "counts only once it is complete",
    "POST /api/v1/auth/refresh": "whoever signed in goes on",
    **dict.fromkeys(
        (
            "POST /api/v1/facts",
            "POST /api/v1/pods/report",
            "POST /api/v1/pods/actions",
            "POST /api/v1/pods/actions/end",
            "POST /api/v1/pods/blackboard",
            "POST /api/v1/pods/blackboard/read",
            "POST /api/v1/workers",
            "POST /api/v1/workers/register",
            "POST /api/v1/workers/heartbeat",
            "POST /api/v1/workers/{id}/exchange",
            "POST /api/v1/workers/{id}/actions",
            "POST /api/v1/workers/{id}/actions/end",
            "POST /api/v1/workers/{id}/blackboard",
            "POST /api/v1/workers/{id}/blackboard/read",
            "POST /api/v1/workers/{id}/env/exec",
            "POST /api/v1/workers/{id}/env/read",
            "POST /api/v1/workers/{id}/env/write",
            "POST /api/v1/workers/{id}/env/snapshot",
            "POST /api/v1/workers/{id}/env/door",
            "DELETE /api/v1/workers/{id}",
            "POST /workers/register",
            "POST /workers/heartbeat",
            "POST /register",
            "POST /heartbeat",
            "POST /queue/poll",
            "POST /queue/complete",
            "POST /queue/heartbeat",
            "POST /queue/update_run",
        ),
        "work, not steering: the run's own history has it",
    ),
}
tried: set[str] = set()


class Said:
    """An API over an engine in memory, and how many commits a call to it takes."""

    def __init__(self, local: LocalEngine, http: httpx.AsyncClient) -> None:
        self.local = local
        self.http = http
        self.answer: Any = None

    async def act(
        self, route: str, body: object = None, *, content: bytes | None = None, **given: Any
    ) -> tuple[int, list[str]]:
        """The commits of a call, and the actions it left in the audit trail."""
        tried.add(route)
        method, path = route.split()
        query = given.pop("query", "")
        before = self.local.database.commits
        known = set(self.local.database.table(Audit))
        sent: Json = {"content": content} if content is not None else {"json": body}
        answer = await self.http.request(method, path.format(**given) + query, **sent)
        assert answer.status_code < 400, answer.text
        self.answer = answer.json() if answer.content else None
        lines = self.local.database.table(Audit)
        actions = [row.action for key, row in lines.items() if key not in known]
        return self.local.database.commits - before, actions


@asynccontextmanager
async def api(folder: Path = Path("/nonexistent"), admin: str = "") -> AsyncIterator[Said]:
    async with local_engine({}) as local:
        engine, attempts = local.engine, Attempts(local.engine)
        link = LinkPlane(engine, attempts, LinkSettings())
        app = create_app(
            engine,
            attempts,
            AppOptions(auth_required=bool(admin), admin_token=admin),
            link=link,
            commands=Commands(engine, link),
            blobs=FileBlobs(folder),
            places=local.places,
        )
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as http:
            http.headers["Authorization"] = f"Bearer {admin}" if admin else ""
            yield Said(local, http)


async def fail_next(said: Said) -> None:
    """Have the call that waits longest fail for good."""
    work = Attempts(said.local.engine)
    [given] = await work.claim("w", ["pull:s"], 1, 5)
    await work.failed(given.attempt_id, Failure("failed", "no"))


RUN = "/api/v1/runs/{id}"
