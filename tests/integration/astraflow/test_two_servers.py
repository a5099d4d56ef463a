"""Two servers share a database: what one cannot do it says, and what the other did is told."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.integration.astraflow.conftest import foreign, until
from tests.integration.astraflow.test_events import listening
from tests.integration.astraflow.test_workers import Gate
from tests.integration.astraflow.test_workers import listening as listening_to_commands
from tests.integration.link.conftest import TOKEN, LinkServer, connected
from tests.integration.link.workflows import chain
from tests.packages import archive as packed
from windlass.testing.processes import ServerProcess, started

pytestmark = [pytest.mark.anyio, pytest.mark.postgres]


class Pair(NamedTuple):
    first: LinkServer
    second: LinkServer


@pytest.fixture(params=["postgres"])
async def pair(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Pair]:
    on_postgres = request.param == "postgres"
    db = request.getfixturevalue("postgres_url") if on_postgres else str(tmp_path / "windlass.db")
    log, files = tmp_path / "servers.log", str(tmp_path / "files")
    args = ("--admin-token", TOKEN, "--lease-s", "2", "--data-dir", files)
    one, two = (ServerProcess(db, *args, log=log) for _ in range(2))
    with started(one, two):
        both = Pair(LinkServer(one, log), LinkServer(two, log))
        yield both
        for server in both:
            await server.http.aclose()
    assert "Traceback" not in log.read_text()


async def test_a_command_reaches_a_worker_through_whichever_server_is_asked(pair: Pair) -> None:
    async with connected(foreign(pair.first)):
        at = "/api/v1/workers/foreign/commands"

        async def draining() -> bool:
            listed = await pair.second.http.get("/api/v1/workers", params={"state": "draining"})
            return [item["id"] for item in listed.json()["items"]] == ["foreign"]

        orders = [(pair.second, "drain"), (pair.second, "undrain"), (pair.first, "drain")]
        for server, type_ in orders:
            asked = await server.http.post(at, json={"type": type_})
            assert asked.status_code == 202, asked.text
            await eventually(draining, type_ == "drain")
        key = {"idempotency-key": "once"}
        told = [
            (await server.http.post(at, json={"type": "undrain"}, headers=key)).json()["commandId"]
            for server in pair
        ]
        assert told[0] == told[1], "one key, one command, whoever is asked"


async def eventually(ask: Callable[[], Awaitable[object]], wanted: object) -> None:
    """Ask until the answer is as wanted, for a second: processes emit no signal to wait on."""
    deadline = time.monotonic() + 1
    while await ask() != wanted:
        assert time.monotonic() < deadline, "it took more than a second"
        await asyncio.sleep(0.02)


@pytest.mark.parametrize("pair", ["postgres", "sqlite"], indirect=True)
async def test_a_missing_package_is_sent_at_once_whichever_server_queued_the_task(
    pair: Pair,
) -> None:
    worker = listening_to_commands(pair.first)
    plain = worker.capabilities
    worker.capabilities = lambda: {**plain(), "features": ["pkg.install"]}  # type: ignore[method-assign]

    def sent(count: int) -> bool:
        return len(worker.commands("biz.pkg.install")) == count

    async def why(server: LinkServer, run_id: str, words: str) -> bool:
        said = (await server.http.get(f"/api/v1/runs/{run_id}/why")).json()["line"]
        return words in said

    async with connected(worker):
        for number in range(6):  # a look at everything could chance to come just then
            version = f"1.0.{number}"
            made = packed(name=f"kit{number}", version=version)
            await pair.second.http.post("/api/v1/published-packages", content=made)
            flow = chain(f"w{number}", "tools.run", package=f"kit{number}", version=version)
            run_id = await pair.second.start(flow)
            await until(partial(sent, number + 1), 2.5)
            for server in pair:
                await eventually(partial(why, server, run_id, worker.name), True)
            said = {"message": f"no room for {number}"}
            await worker.pkg_event(
                name=f"kit{number}", version=version, status="failed", details=said
            )
            for server in pair:
                await eventually(partial(why, server, run_id, said["message"]), True)


async def test_a_client_hears_of_what_another_server_commits(pair: Pair) -> None:
    async with connected(foreign(pair.first)), listening(pair.second, "me") as heard:
        run_id = await pair.first.start(chain("elsewhere", "demo.a", "demo.b"), "me")
        await until(lambda: heard.of("run.snapshot"), 20)
    assert [event["data"]["status"] for event in heard.of("run.status")] == ["running", "succeeded"]
    ids = [event["id"] for event in heard.about(run_id)]
    assert len(ids) == len(set(ids))
    assert len(heard.of("node.result.snapshot")) == 2


async def test_a_file_uploaded_here_is_completed_and_read_there(pair: Pair) -> None:
    body = {"filename": "f", "sizeBytes": 6, "chunkSize": 3}
    upload = (await pair.first.http.post("/api/v1/resources/uploads", json=body)).json()
    at = f"/api/v1/resources/uploads/{upload['uploadId']}"
    await pair.second.http.put(f"{at}/parts/1", content=b"def")
    await pair.first.http.put(f"{at}/parts/0", content=b"abc")
    made = await pair.second.http.post(f"{at}/complete")
    assert made.status_code == 200, made.text
    assert (await pair.first.http.get(made.json()["downloadUrl"])).content == b"abcdef"
    workflows = await pair.first.http.post("/api/v1/workflows", json=chain("kept", "demo.a"))
    assert workflows.status_code == 201
    found = await pair.second.http.get("/api/v1/workflows", params={"q": "kep"})
    assert len(found.json()["items"]) == 1
    runs = await pair.second.http.get("/api/v1/runs", params={"clientId": "no_body%"})
    assert runs.json() == {"items": [], "nextCursor": None}


async def test_the_runs_of_a_worker_are_moved_whoever_committed_them(pair: Pair) -> None:
    gate = Gate()
    old = foreign(pair.first, "old", handler=gate)
    async with connected(old):
        run_id = await pair.second.start(chain("moved", "demo.a", "demo.b"), "me")
        await until(lambda: old.running == 1)
        async with connected(foreign(pair.second, "new")) as new:
            at = "/api/v1/workers/old/commands"
            moved = await pair.first.http.post(at, json={"type": "rebind", "workerId": "new"})
            assert moved.status_code == 202, moved.text

            async def bound_to() -> object:
                at = f"/api/v1/scheduler/runs/{run_id}/bindings"
                return [
                    item["workerId"] for item in (await pair.second.http.get(at)).json()["items"]
                ]

            await eventually(bound_to, ["new"])
            gate.open.set()
            assert (await pair.second.wait(run_id))["status"] == "succeeded"
            assert len(new.executed) == 1
