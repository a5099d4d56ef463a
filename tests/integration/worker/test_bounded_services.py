"""Services with a bound of their own: a worker takes no more than it can begin, and is never deaf.

The handlers say when they begin; nothing here may wait inside a worker while its time runs.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator

import anyio
import httpx
import pytest

from windlass.testing.processes import ServerProcess
from windlass.worker import Worker
from windlass.worker.push import PushServer
from windlass.worker.runtime import Runtime
from windlass.worker.serve import pull_loop
from windlass.worker.settings import WorkerSettings

pytestmark = pytest.mark.anyio
ITEMS = 20


@pytest.fixture(scope="module")
def server(
    module_database: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ServerProcess]:
    log = tmp_path_factory.mktemp("bounded") / "log"
    with ServerProcess(module_database, "--no-auth", log=log) as found:
        yield found


class Napping:
    """A worker whose service may run twice at once, beside one without a bound."""

    def __init__(self) -> None:
        self.running = self.most = 0
        self.worker = Worker()
        self.worker.add("nap", self.nap, concurrency=2)
        self.worker.add("other", lambda: "done")

    async def nap(self) -> None:
        self.running += 1
        self.most = max(self.most, self.running)
        await asyncio.sleep(0.1)
        self.running -= 1


@contextlib.asynccontextmanager
async def working(worker: Worker, url: str, mode: str) -> AsyncIterator[None]:
    settings = WorkerSettings(
        server=url, id=f"w-{mode}", concurrency=16, listen="http://127.0.0.1:0", drain_s=1
    )
    runtime = Runtime(worker, settings.concurrency)
    async with anyio.create_task_group() as group:
        if mode == "pull":
            loop = pull_loop(worker, runtime, settings)
            group.start_soon(loop.run, settings.drain_s)
            stop = loop.stop
        else:
            push = PushServer(worker, runtime, settings)
            group.start_soon(push.run)
            stop = push.stop
        try:
            yield
        finally:
            stop()
    runtime.close()


def naps(mode: str) -> dict[str, object]:
    node = {
        "kind": "foreach",
        "parallel_mode": "concurrent",
        "exec_type": mode,
        "service": "nap",
        "timeout_ms": 700,
        "prep": {"input_key": "$params.items"},
    }
    return {"start": "naps", "nodes": {"naps": node}, "edges": []}


@pytest.mark.parametrize(("mode", "exec_type"), [("pull", "queue"), ("push", "http")])
async def test_items_of_a_bounded_service_begin_one_after_another_within_their_time(
    server: ServerProcess, mode: str, exec_type: str
) -> None:
    napping = Napping()
    async with (
        httpx.AsyncClient(base_url=server.url, timeout=30) as http,
        working(napping.worker, server.url, mode),
    ):
        path = f"/api/v1/flows/naps-{mode}/versions"
        pushed = await http.post(path, json={"definition": naps(exec_type)})
        assert pushed.status_code == 201, pushed.text
        with anyio.fail_after(8):  # a second of work; a worker that is deaf takes 10 s a turn
            body = {"flow": f"naps-{mode}", "params": {"items": list(range(ITEMS))}}
            run = (await http.post("/api/v1/runs", json=body)).json()["id"]
            ended = (await http.get(f"/api/v1/runs/{run}", params={"waitMs": 8000})).json()
    assert ended["state"] == "succeeded", ended
    assert ended["failures"] == 0, ended
    assert napping.most == 2
