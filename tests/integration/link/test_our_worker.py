"""Our own worker on the link: packages, versions that come and go, and every kind of death."""

import asyncio
import json
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.integration.link.conftest import LEASE_S, TOKEN, LinkServer, until
from tests.integration.link.workflows import uuid, workflow
from windlass.testing.processes import Process

pytestmark = pytest.mark.anyio

PACKAGES = Path(__file__).parents[3] / "examples" / "packages"
Json = dict[str, Any]


def text_node(name: str, type_: str, version: str = "1.0.0", **parameters: Any) -> Json:
    return {
        "id": uuid(name),
        "type": type_,
        "package": {"name": "text_tools", "version": version},
        "label": name,
        "position": {"x": 0, "y": 0},
        "parameters": parameters,
    }


def wire(source: str, port: str, target: str, to: str) -> Json:
    return {
        "id": uuid(f"{source}-{target}"),
        "source": {"node": uuid(source), "port": port},
        "target": {"node": uuid(target), "port": to},
    }


def echoes(name: str, version: str = "1.0.0") -> Json:
    """Two echoes, the second of what the first said."""
    nodes = [
        text_node(f"{name}-a", "text.echo", version, message="hello"),
        text_node(f"{name}-b", "text.echo", version),
    ]
    return workflow(name, nodes, [wire(f"{name}-a", "echo", f"{name}-b", "message")])


def build(folder: Path, out: Path) -> Path:
    command = [sys.executable, "-m", "windlass", "pkg", "build", str(folder), "-o", str(out)]
    subprocess.run(command, check=True, capture_output=True)
    return out


def cli(server: LinkServer, *args: str) -> str:
    """What a command says on its standard output."""
    command = [sys.executable, "-m", "windlass", *args, "--server", server.url, "--token", TOKEN]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


async def publish(server: LinkServer, archive: Path) -> Json:
    content = await asyncio.to_thread(archive.read_bytes)
    answer = await server.http.post(
        "/api/v1/published-packages",
        content=content,
        headers={"Content-Type": "application/zip"},
    )
    assert answer.status_code == 201, answer.text
    found: Json = answer.json()
    return found


class OurWorker(Process):
    """`windlass worker packages --transport link`, with folders of its own."""

    def __init__(self, server: LinkServer, folder: Path, name: str, *args: str) -> None:
        self.name = name
        self.folder = folder
        super().__init__(
            *("worker", "packages", "--transport", "link", "--id", name),
            *("--server", server.url, "--token", TOKEN),
            *("--packages-dir", str(folder / name / "packages")),
            *("--data-dir", str(folder / name / "data")),
            *args,
            env={
                "ASTRA_WORKER_HEARTBEAT_INTERVAL_SECONDS": "1",
                "ASTRA_WORKER_HEARTBEAT_JITTER_SECONDS": "0.1",
            },
            log=folder / f"{name}.log",
        )


@asynccontextmanager
async def working(server: LinkServer, *workers: OurWorker) -> AsyncIterator[None]:
    """Our workers, connected, until the block ends."""
    try:
        for worker in workers:
            await asyncio.to_thread(worker.start)
        for worker in workers:
            await present(server, worker.name)
        yield
    finally:
        for worker in workers:
            await asyncio.to_thread(worker.stop)


async def present(server: LinkServer, name: str) -> None:
    async with asyncio.timeout(20):
        while name not in await online(server):  # noqa: ASYNC110  another process
            await asyncio.sleep(0.05)


async def online(server: LinkServer) -> set[str]:
    answer = await server.http.get("/api/v1/workers")
    return {w["id"] for w in answer.json()["items"] if w["state"] == "online"}


@pytest.fixture
def text_tools(tmp_path: Path) -> Path:
    return build(PACKAGES / "text_tools", tmp_path / "text_tools.cwx")


async def test_a_package_nobody_has_is_installed_where_its_tasks_can_run(
    server: LinkServer, tmp_path: Path, text_tools: Path
) -> None:
    await publish(server, text_tools)
    async with working(server, OurWorker(server, tmp_path, "w1")):
        run = await server.wait(await server.start(echoes("first")))
        assert run["status"] == "succeeded", run
        results = {n["nodeId"]: n["result"] for n in run["nodes"]}
        assert results[uuid("first-b")]["echo"] == "hello"
    installed = tmp_path / "w1" / "packages" / "text_tools" / "1.0.0" / "manifest.json"
    assert installed.is_file()


async def test_our_worker_speaks_the_first_generation_too(
    server: LinkServer, tmp_path: Path, text_tools: Path
) -> None:
    await publish(server, text_tools)
    slow = workflow("old-slow", [text_node("old-slow-a", "text.slow", seconds=30)], [])
    async with working(server, OurWorker(server, tmp_path, "w1", "--wire", "1")):
        run = await server.wait(await server.start(echoes("old")))
        assert run["status"] == "succeeded", run
        run_id = await server.start(slow)
        await running_on(server, run_id, "w1")
        await server.http.post(f"/api/v1/runs/{run_id}/cancel", json={})
        assert (await server.wait(run_id))["status"] == "cancelled"
        await until_settled(server, "w1")


async def until_settled(server: LinkServer, name: str) -> None:
    """Wait until a heartbeat names nothing in hand: every report was acknowledged."""
    async with asyncio.timeout(10):
        while True:
            known = (await server.http.get(f"/api/v1/workers/{name}")).json()
            metrics = known["heartbeat"]["metrics"]
            if metrics["held"] == [] and metrics["inflight"] == 0:
                return
            await asyncio.sleep(0.1)


async def test_a_workflow_with_a_package_nobody_knows_is_refused_and_starts_nothing(
    server: LinkServer,
) -> None:
    body = {"workflow": echoes("unknown", "9.9.9"), "clientId": "tests"}
    answer = await server.http.post("/api/v1/runs", json=body)
    assert answer.status_code == 422
    assert "text_tools" in answer.json()["problems"][0]["reason"]
    assert (await server.http.get("/api/v1/runs")).json()["items"] == []


async def test_a_bad_version_is_rolled_back_while_the_good_one_keeps_serving(
    server: LinkServer, tmp_path: Path, text_tools: Path
) -> None:
    await publish(server, text_tools)
    second = tmp_path / "second"
    shutil.copytree(PACKAGES / "text_tools", second)
    manifest = json.loads((second / "manifest.json").read_text())
    manifest["version"] = "2.0.0"
    (second / "manifest.json").write_text(json.dumps(manifest))
    source = second / "adapters" / "text_functions.py"
    broken = source.read_text() + "\n\nasync def echo(ctx):\n    raise ValueError('bad release')\n"
    source.write_text(broken)
    await publish(server, build(second, tmp_path / "second.cwx"))
    async with working(server, OurWorker(server, tmp_path, "w1")):
        assert (await server.wait(await server.start(echoes("v1"))))["status"] == "succeeded"
        bad = await server.wait(await server.start(echoes("v2", "2.0.0")))
        assert bad["status"] == "failed"
        assert "bad release" in bad["error"]["message"]
        assert (await server.wait(await server.start(echoes("v1"))))["status"] == "succeeded"
        said = await asyncio.to_thread(cli, server, "pkg", "rollback", "text_tools")
        assert said.splitlines() == [
            "yanked text_tools@2.0.0",
            "latest is text_tools@1.0.0",
            "w1 is to remove text_tools@2.0.0",
        ]
        folder = tmp_path / "w1" / "packages" / "text_tools"
        await until(lambda: not (folder / "2.0.0").exists())
        assert (await server.wait(await server.start(echoes("v1"))))["status"] == "succeeded"
        body = {"workflow": echoes("again", "2.0.0"), "clientId": "tests"}
        assert (await server.http.post("/api/v1/runs", json=body)).status_code == 422


async def test_a_package_is_published_and_installed_by_commands(
    server: LinkServer, tmp_path: Path, text_tools: Path
) -> None:
    assert cli(server, "pkg", "publish", str(text_tools)) == "text_tools@1.0.0\n"
    assert cli(server, "pkg", "publish", str(text_tools)) == "text_tools@1.0.0\n"
    async with working(server, OurWorker(server, tmp_path, "w1")):
        said = await asyncio.to_thread(cli, server, "pkg", "install", "text_tools")
        assert said == "w1 is to install text_tools@1.0.0\n"
        folder = tmp_path / "w1" / "packages" / "text_tools"
        await until(lambda: (folder / "1.0.0" / "manifest.json").exists())
        listed = json.loads(await asyncio.to_thread(cli, server, "pkg", "ls", "--json"))
        assert listed[0]["versions"] == ["1.0.0"]
        assert (await asyncio.to_thread(cli, server, "pkg", "ls")).startswith("text_tools\t1.0.0\t")
        await asyncio.to_thread(cli, server, "pkg", "uninstall", "text_tools", "1.0.0")
        await until(lambda: not (folder / "1.0.0").exists())


async def test_a_killed_workers_task_runs_again_elsewhere_within_the_lease(
    server: LinkServer, tmp_path: Path, text_tools: Path
) -> None:
    await publish(server, text_tools)
    first = OurWorker(server, tmp_path, "first")
    slow = workflow("slow", [text_node("slow-a", "text.slow", seconds=1.5)], [])
    async with working(server, first):
        run_id = await server.start(slow)
        await running_on(server, run_id, "first")
        second = OurWorker(server, tmp_path, "second")
        async with working(server, second):
            first.kill()
            async with asyncio.timeout(LEASE_S + 5 + 1.5):
                run = await server.wait(run_id)
    assert run["status"] == "succeeded", run
    assert run["nodes"][0]["workerName"] == "second"


@pytest.mark.parametrize("lease_s", [30.0])
async def test_a_killed_servers_worker_finishes_what_it_has_and_reports_it_later(
    server: LinkServer, tmp_path: Path, text_tools: Path
) -> None:
    await publish(server, text_tools)
    slow = workflow("survivor", [text_node("survivor-a", "text.slow", seconds=2)], [])
    async with working(server, OurWorker(server, tmp_path, "w1")):
        run_id = await server.start(slow)
        await running_on(server, run_id, "w1")
        server.process.kill()
        await asyncio.sleep(0.5)
        await asyncio.to_thread(server.process.start)
        run = await server.wait(run_id, 30)
    assert run["status"] == "succeeded", run
    assert run["nodes"][0]["taskId"].endswith("@1")  # nobody had to do it again


async def test_a_cancelled_run_stops_its_handler(
    server: LinkServer, tmp_path: Path, text_tools: Path
) -> None:
    await publish(server, text_tools)
    slow = workflow("stopped", [text_node("stopped-a", "text.slow", seconds=60)], [])
    async with working(server, OurWorker(server, tmp_path, "w1")):
        run_id = await server.start(slow)
        await running_on(server, run_id, "w1")
        answer = await server.http.post(f"/api/v1/runs/{run_id}/cancel", json={})
        assert answer.status_code == 202
        async with asyncio.timeout(8):
            run = await server.wait(run_id)
    assert run["status"] == "cancelled"


async def running_on(server: LinkServer, run_id: str, worker: str) -> None:
    """Wait until a worker has acknowledged a run's first node."""
    async with asyncio.timeout(20):
        while True:
            node = (await server.wait(run_id, 0.05))["nodes"][0]
            if node.get("workerName") == worker and node["pendingAck"] is False:
                return
            await asyncio.sleep(0.05)


async def test_a_result_too_large_for_a_frame_stays_with_its_worker(
    server: LinkServer, tmp_path: Path, text_tools: Path
) -> None:
    await publish(server, text_tools)
    large = workflow("large", [text_node("large-a", "text.echo", message="x" * 900_000)], [])
    async with working(server, OurWorker(server, tmp_path, "w1")):
        run = await server.wait(await server.start(large))
        assert run["status"] == "succeeded", str(run)[:500]
        assert run["nodes"][0]["result"]["echo"] == "x" * 900_000  # it just fits
        huge = workflow("huge", [text_node("huge-a", "text.echo", message="y" * 1_500_000)], [])
        run = await server.wait(await server.start(huge))
        assert run["status"] == "succeeded", str(run)[:500]
        reference = run["nodes"][0]["result"]["resourceRef"]
        assert reference["workerId"] == "w1"
        assert run["artifacts"][0]["resourceId"] == reference["resourceId"]
        assert run["artifacts"][0]["sizeBytes"] > 1_500_000
        await asyncio.sleep(0.5)  # the run's end has let go of everything nobody named
        kept = [p.stem for p in (tmp_path / "w1" / "data").rglob("result-*.json")]
        assert kept == [reference["resourceId"]]
