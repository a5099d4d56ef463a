"""Our own worker, with a package of ours, does what operators tell it through the API."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.integration.astraflow.conftest import until
from tests.integration.astraflow.test_events import listening
from tests.integration.link.conftest import TOKEN, LinkServer
from tests.integration.link.workflows import node, workflow
from tests.packages import example
from windlass.testing.processes import Process, started, worker_process

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

Json = dict[str, Any]
COMMANDS = "/api/v1/workers/own/commands"


@pytest.fixture
async def worker(server: LinkServer, tmp_path: Path) -> AsyncIterator[Process]:
    answer = await server.http.post("/api/v1/published-packages", content=example("text_tools"))
    assert answer.status_code == 201, answer.text
    folders = ("--packages-dir", str(tmp_path / "packages"), "--data-dir", str(tmp_path / "data"))
    process = worker_process(
        "packages",
        server.url,
        "link",
        "--id",
        "own",
        *folders,
        token=TOKEN,
        log=tmp_path / "worker.log",
    )
    with started(process):

        async def there() -> bool:
            return (await server.http.get("/api/v1/workers/own")).status_code == 200

        await until(there, 20)
        yield process


def one(type_: str, **parameters: Any) -> Json:
    made = node(type_, type_, "text_tools", parameters=parameters)
    return workflow(type_, [made], [])


async def installed(server: LinkServer) -> list[str]:
    found = (await server.http.get("/api/v1/workers/own")).json()["packages"]
    return [package["name"] for package in found if package["status"] == "installed"]


@pytest.mark.usefixtures("worker")
async def test_a_package_is_installed_by_command_and_three_megabytes_reach_it(
    server: LinkServer,
) -> None:
    async with listening(server, "tests") as heard:
        body = {"type": "pkg.install", "name": "text_tools"}
        asked = await server.http.post(COMMANDS, json=body)
        assert asked.status_code == 202, asked.text
        await until(lambda: heard.of("command.ack"), 60)
        assert heard.of("command.ack")[0]["data"]["commandId"] == asked.json()["commandId"]

        async def there() -> bool:
            return await installed(server) == ["text_tools"]

        await until(there)
        large = " " * 3_000_000 + "word"
        run = await server.wait(await server.start(one("text.feedback", text=large)), 60)
        assert run["status"] == "succeeded", run
        assert run["nodes"][0]["result"]["words"] == 1
        await until(lambda: heard.of("node.result.delta"))
    deltas = [event["data"] for event in heard.of("node.result.delta")]
    assert deltas[0]["path"] == "/channels/llm"
    assert deltas[0]["payload"] == {"text": "word"}
    attempts = await server.http.get(f"/api/v1/runs/{run['runId']}/attempts")
    assert "said 1 words" in attempts.json()["items"][0]["log"]
    gone = await server.http.post(COMMANDS, json={"type": "pkg.uninstall", "name": "text_tools"})
    assert gone.status_code == 202

    async def removed() -> bool:
        return await installed(server) == []

    await until(removed, 30)


@pytest.mark.usefixtures("worker")
async def test_a_drained_worker_of_ours_ends_its_task_and_takes_no_other(
    server: LinkServer,
) -> None:
    first = await server.start(one("text.slow", seconds=1))  # installs the package by itself

    async def running() -> bool:
        return bool((await server.http.get("/api/v1/workers/own")).json()["held"])

    await until(running, 60)
    assert (await server.http.post(COMMANDS, json={"type": "drain"})).status_code == 202
    second = await server.start(one("text.count"))
    assert (await server.wait(first))["status"] == "succeeded"
    assert (await server.wait(second, 1))["status"] == "running"
    found = (await server.http.get("/api/v1/workers/own")).json()
    assert found["state"] == "draining"
    assert (await server.http.post(COMMANDS, json={"type": "undrain"})).status_code == 202
    assert (await server.wait(second))["status"] == "succeeded"
    assert (await server.http.get("/api/v1/workers/own")).json()["state"] == "online"
