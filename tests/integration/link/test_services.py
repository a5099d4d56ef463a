"""Plain services on a live link: bounded as everywhere, timed from their begin, heard at once."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.integration.link.conftest import TOKEN, LinkServer
from tests.integration.link.test_our_worker import present
from windlass.testing.processes import worker_process

pytestmark = pytest.mark.anyio

SERVICES = """
import asyncio
from pathlib import Path

from windlass import Worker

worker = Worker()


@worker.service("nap", concurrency=1)
async def nap(ctx, input):
    await asyncio.sleep(0.25)
    return input


@worker.service("talk")
def talk(ctx, go_on: str):
    ctx.log("first word")
    while not Path(go_on).exists():
        ctx.check()
        __import__("time").sleep(0.02)
    ctx.log("last word")


@worker.service("third")
def third(ctx):
    if ctx.number < 3:
        raise ValueError(f"{ctx.number} of {ctx.task_id}")
    return [ctx.number, ctx.task_id]
"""


@pytest.fixture
def server_args() -> tuple[str, ...]:
    return ()


@asynccontextmanager
async def linked(
    server: LinkServer, folder: Path, name: str = "w1", services: str = SERVICES
) -> AsyncIterator[None]:
    (folder / f"services_{name}.py").write_text(services)
    places = (
        "--packages-dir",
        str(folder / "packages"),
        "--data-dir",
        str(folder / f"data-{name}"),
    )
    worker = worker_process(
        *(f"services_{name}:worker", server.url, "link", "--id", name),
        *places,
        path=[folder],
        token=TOKEN,
        log=folder / f"{name}.log",
    )
    await asyncio.to_thread(worker.start)
    try:
        await present(server, name)
        yield
    finally:
        await asyncio.to_thread(worker.stop)


async def start(server: LinkServer, node: dict[str, Any], params: dict[str, Any]) -> str:
    flow = {"start": "a", "nodes": {"a": node}}
    answer = await server.http.post("/api/v1/flows/served/versions", json={"definition": flow})
    assert answer.status_code in (200, 201), answer.text
    begun = await server.http.post("/api/v1/runs", json={"flow": "served", "params": params})
    return str(begun.json()["id"])


async def test_a_worker_is_given_its_own_services_and_not_those_of_another(
    server: LinkServer, tmp_path: Path
) -> None:
    other = SERVICES.replace('"nap"', '"whisper"').replace('"talk"', '"shout"')
    node = {
        "kind": "foreach",
        "service": "nap",
        "exec_type": "queue",
        "prep": {"input_key": "$params.items"},
        "parallel_mode": "concurrent",
    }
    async with linked(server, tmp_path), linked(server, tmp_path, "w2", other):
        run_id = await start(server, node, {"items": list(range(12))})
        run = await server.wait(run_id)
        assert (run["state"], run["failures"]) == ("succeeded", 0), run
        attempts = (await server.http.get(f"/api/v1/runs/{run_id}/attempts")).json()["items"]
        assert {attempt["workerId"] for attempt in attempts} == {"w1"}


async def test_a_handler_is_told_which_try_it_is(server: LinkServer, tmp_path: Path) -> None:
    node = {"service": "third", "exec_type": "queue", "max_retries": 3}
    async with linked(server, tmp_path):
        run_id = await start(server, {**node, "post": {"output_key": "told"}}, {})
        run = await server.wait(run_id)
    assert run["shared"] == {"told": [3, f"{run_id}~a.1"]}, run


async def test_an_attempts_time_counts_from_when_its_handler_begins(
    server: LinkServer, tmp_path: Path
) -> None:
    node = {
        "kind": "foreach",
        "service": "nap",
        "exec_type": "queue",
        "timeout_ms": 600,
        "prep": {"input_key": "$params.items"},
        "parallel_mode": "concurrent",
    }
    async with linked(server, tmp_path):
        run_id = await start(server, node, {"items": list(range(6))})
        run = await server.wait(run_id)
        assert (run["state"], run["failures"]) == ("succeeded", 0), run
        attempts = (await server.http.get(f"/api/v1/runs/{run_id}/attempts")).json()["items"]
        assert len(attempts) == 6, "each was given out once, when there was room for it"


async def test_what_a_service_logs_is_read_while_it_runs_and_stands_once_at_its_end(
    server: LinkServer, tmp_path: Path
) -> None:
    go_on = tmp_path / "go-on"
    node = {"service": "talk", "exec_type": "queue", "prep": {"input_map": {"go_on": "$params.go"}}}
    async with linked(server, tmp_path):
        run_id = await start(server, node, {"go": str(go_on)})
        async with asyncio.timeout(10):
            while "first word" not in await said(server, run_id):  # noqa: ASYNC110  over HTTP
                await asyncio.sleep(0.05)
        go_on.touch()
        run = await server.wait(run_id)
        assert run["state"] == "succeeded", run
        assert await said(server, run_id) == "first word\nlast word"


async def said(server: LinkServer, run_id: str) -> str:
    attempts = (await server.http.get(f"/api/v1/runs/{run_id}/attempts")).json()["items"]
    texts: list[str] = []
    for attempt in attempts:
        asked = {"attempt": attempt["id"]}
        answer = await server.http.get(f"/api/v1/runs/{run_id}/logs", params=asked)
        texts += [chunk["text"] for chunk in answer.json()["items"]]
    return "\n".join(texts)
