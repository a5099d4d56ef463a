"""What handlers log is at the server while they run, and stays if their worker never answers."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest

from tests.integration.worker.test_bounded_services import working
from windlass.testing.processes import ServerProcess, worker_process
from windlass.worker import Context, Worker

pytestmark = pytest.mark.anyio

SERVICES = """
import os, time, windlass
w = windlass.Worker()

@w.service("dies")
def dies(ctx):
    ctx.log("about to die")
    time.sleep(60)
"""


@pytest.fixture(scope="module")
def server(
    module_database: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ServerProcess]:
    log = tmp_path_factory.mktemp("logs") / "log"
    args = ("--no-auth", "--allow-scripts", "--lease-s", "2")
    with ServerProcess(module_database, *args, log=log) as found:
        yield found


async def start(http: httpx.AsyncClient, name: str, node: dict[str, Any]) -> str:
    definition = {"start": "a", "nodes": {"a": node}}
    pushed = await http.post(f"/api/v1/flows/{name}/versions", json={"definition": definition})
    assert pushed.status_code == 201, pushed.text
    started = await http.post("/api/v1/runs", json={"flow": name})
    return str(started.json()["id"])


async def log_of(http: httpx.AsyncClient, run: str, wanted: str) -> dict[str, Any]:
    """The first attempt of a run, once its log has a text in it."""
    items: list[dict[str, Any]] = []
    for _ in range(200):
        items = (await http.get(f"/api/v1/runs/{run}/attempts")).json()["items"]
        if items and wanted in (items[0]["log"] or ""):
            return items[0]
        await anyio.sleep(0.05)
    raise AssertionError(f"{wanted!r} is not in {items}")


@pytest.mark.parametrize(("mode", "exec_type"), [("pull", "queue"), ("push", "http")])
async def test_a_log_is_there_while_the_handler_runs(
    server: ServerProcess, mode: str, exec_type: str
) -> None:
    go_on = threading.Event()
    seen: list[tuple[str, int]] = []
    worker = Worker()

    @worker.service("talks")
    def talks(ctx: Context) -> str:
        seen.append((ctx.node, ctx.number))
        ctx.log("halfway")
        go_on.wait(20)
        ctx.log("done")
        return "ok"

    async with (
        httpx.AsyncClient(base_url=server.url, timeout=30) as http,
        working(worker, server.url, mode),
    ):
        node = {"exec_type": exec_type, "service": "talks", "timeout_ms": 30_000}
        run = await start(http, f"talks-{mode}", node)
        attempt = await log_of(http, run, "halfway")
        assert attempt["state"] in ("claimed", "running")
        pieces = await http.get(f"/api/v1/runs/{run}/logs", params={"attempt": attempt["id"]})
        assert [piece["text"] for piece in pieces.json()["items"]] == ["halfway"]
        go_on.set()
        ended = await http.get(f"/api/v1/runs/{run}", params={"waitMs": 10_000})
        assert ended.json()["state"] == "succeeded"
        assert (await log_of(http, run, "done"))["log"] == "halfway\ndone"
        pieces = await http.get(f"/api/v1/runs/{run}/logs", params={"attempt": attempt["id"]})
        assert [piece["text"] for piece in pieces.json()["items"]] == ["halfway", "done"]
    assert seen == [("a", 1)]


async def test_a_log_outlives_its_worker(server: ServerProcess, tmp_path: Path) -> None:
    (tmp_path / "dying.py").write_text(SERVICES)
    process = worker_process("dying:w", server.url, "pull", path=[tmp_path])
    async with httpx.AsyncClient(base_url=server.url, timeout=30) as http:
        process.start()
        node = {"exec_type": "queue", "service": "dies", "max_attempts": 1}
        run = await start(http, "dies", node)
        await log_of(http, run, "about to die")
        process.kill()
        ended = await http.get(f"/api/v1/runs/{run}", params={"waitMs": 10_000})
        assert ended.json()["state"] == "failed"
        assert (await log_of(http, run, "about to die"))["state"] == "lost"


@pytest.mark.parametrize(
    ("node", "logged"),
    [
        ({"exec_type": "local_script", "script": {"code": "echo hi; exit 3"}}, "hi"),
        ({"exec_type": "local_script", "script": {"code": "echo well"}}, "well"),
    ],
)
async def test_what_the_server_itself_executes_keeps_its_log(
    server: ServerProcess, node: dict[str, Any], logged: str
) -> None:
    async with httpx.AsyncClient(base_url=server.url, timeout=30) as http:
        run = await start(http, f"own-{logged}", node)
        await log_of(http, run, logged)
