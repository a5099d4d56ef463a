"""Workers are listed, told what to do, and relieved of their runs."""

import asyncio
from hashlib import sha256
from typing import Any

import httpx
import pytest

from tests.integration.astraflow.conftest import foreign, token, until
from tests.integration.link.conftest import LinkServer, connected
from tests.integration.link.independent import SecondGeneration, echo
from tests.integration.link.workflows import chain
from tests.packages import archive as packed

pytestmark = pytest.mark.anyio

Json = dict[str, Any]


async def ids(server: LinkServer, **query: Any) -> list[str]:
    answer = await server.http.get("/api/v1/workers", params={"transport": "link", **query})
    assert answer.status_code == 200, answer.text
    return [item["id"] for item in answer.json()["items"]]


async def command(server: LinkServer, worker: str, **body: Any) -> Any:
    return await server.http.post(f"/api/v1/workers/{worker}/commands", json=body)


async def state(server: LinkServer, worker: str) -> str:
    return str((await server.http.get(f"/api/v1/workers/{worker}")).json()["state"])


class Gate:
    """A handler that waits until it is let go."""

    def __init__(self) -> None:
        self.open = asyncio.Event()

    async def __call__(self, dispatch: Json) -> Json:
        await self.open.wait()
        return await echo(dispatch)


class Listening(SecondGeneration):
    """Also keeps the commands it is sent."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.heard: list[tuple[str, Json]] = []

    async def receive(self, frame: Json) -> None:
        self.heard.append((frame["type"], frame["payload"]))
        await super().receive(frame)

    def commands(self, type_: str) -> list[Json]:
        return [payload for kind, payload in self.heard if kind == type_]

    async def pkg_event(self, **payload: Any) -> None:
        seq, self.next_seq = self.next_seq, self.next_seq + 1
        await self.send(self.envelope("biz.pkg.event", payload, session_seq=seq))


def listening(server: LinkServer, name: str = "foreign", **more: Any) -> Listening:
    made = foreign(server, name, **more)
    made.__class__ = Listening
    assert isinstance(made, Listening)
    made.heard = []
    return made


async def test_workers_are_listed_with_what_they_have_and_filtered_by_it(
    server: LinkServer,
) -> None:
    other = foreign(server, "other", packages=[("extra", "2.0.0")])
    async with connected(foreign(server, "first")), connected(other):

        async def beaten() -> bool:
            found = (await server.http.get("/api/v1/workers/first")).json()
            return found["heartbeat"] is not None

        await until(beaten)
        one = (await server.http.get("/api/v1/workers/first")).json()
        assert one["packages"] == [{"name": "demo", "version": "1.0.0", "status": "installed"}]
        assert one["hostname"] == "independent"
        assert one["capabilities"]["concurrency"] == {"maxParallel": 16}
        assert one["heartbeat"]["metrics"]["cpuPct"] == 1.0
        assert one["queues"] == one["services"] == ["demo@1.0.0"]
        assert one["lastHeartbeatAt"].endswith("Z")
        assert (one["connected"], one["registered"], one["tenant"]) == (True, True, "default")
        assert one["instanceId"]
        assert await ids(server) == ["first", "other"]
        assert await ids(server, packageName="extra", packageVersion="2.0.0") == ["other"]
        assert await ids(server, packageStatus="failed") == []
        assert await ids(server, q="fir") == ["first"]
        assert await ids(server, connected="false") == []
        assert await ids(server, connected="true", healthy="true") == ["first", "other"]
        assert await ids(server, maxInflight=0, maxHeartbeatAgeSeconds=60) == ["first", "other"]
        assert await ids(server, registered="true") == ["first", "other"]
        assert await ids(server, registered="false") == []
        page = await server.http.get("/api/v1/workers", params={"transport": "link", "limit": 1})
        assert page.json()["next"] == page.json()["nextCursor"] == "first"
        assert await ids(server, limit=1, cursor="first") == ["other"]
        for bad in ({"connected": "perhaps"}, {"packageName": "demo"}, {"maxInflight": "many"}):
            assert (await server.http.get("/api/v1/workers", params=bad)).status_code == 400
    assert (await server.http.get("/api/v1/workers/nobody")).status_code == 404


async def test_workers_are_filtered_by_the_latency_they_tell(server: LinkServer) -> None:
    for name, metrics in [("far", {"latencyMs": 90}), ("near", {"latency_ms": 5}), ("silent", {})]:
        body = {"workerId": name, "packages": ["demo@1.0.0"]}
        assert (await server.http.post("/api/workers/register", json=body)).status_code == 200
        beat = {"workerId": name, "healthy": True, "metrics": metrics}
        assert (await server.http.post("/api/workers/heartbeat", json=beat)).status_code == 200
    assert await ids(server, maxLatencyMs=50) == ["near"]
    assert await ids(server, maxLatencyMs=100) == ["far", "near"]


async def test_a_drained_worker_ends_what_it_has_and_gets_nothing_new(server: LinkServer) -> None:
    gate = Gate()
    worker = listening(server, handler=gate)
    async with connected(worker):
        first = await server.start(chain("drained", "demo.a"))
        await until(lambda: worker.running == 1)
        answer = await command(server, "foreign", type="drain", reason="maintenance")
        assert answer.status_code == 202
        assert answer.json()["workerName"] == "foreign"
        assert await state(server, "foreign") == "draining"
        await until(lambda: worker.commands("control.drain"))
        second = await server.start(chain("waiting", "demo.a"))
        gate.open.set()
        assert (await server.wait(first))["status"] == "succeeded"
        assert (await server.wait(second, 0.5))["status"] == "running"
        assert len(worker.executed) == 1
        assert (await command(server, "foreign", type="undrain")).status_code == 202
        assert (await server.wait(second))["status"] == "succeeded"
        assert await state(server, "foreign") == "online"


async def test_what_a_worker_is_to_install_it_can_fetch_without_a_token(server: LinkServer) -> None:
    made = packed(name="plain")
    published = await server.http.post("/api/v1/published-packages", content=made)
    assert published.status_code == 201, published.text
    worker = listening(server)
    async with connected(worker), httpx.AsyncClient() as stranger:
        answer = await command(server, "foreign", type="pkg.install", name="plain")
        assert answer.status_code == 202, answer.text
        [asked] = await until(lambda: worker.commands("biz.pkg.install"))
        fetched = await stranger.get(asked["url"])
        assert fetched.status_code == 200
        assert sha256(fetched.content).hexdigest() == asked["sha256"]
        for changed in (asked["url"] + "1", asked["url"].replace("expires=1", "expires=2")):
            assert (await stranger.get(changed)).status_code == 401


async def test_packages_are_installed_and_removed_by_command(server: LinkServer) -> None:
    worker = listening(server)
    async with connected(worker):
        url, digest = "http://127.0.0.1:9/x.cwx", "ab" * 32
        answer = await command(
            server, "foreign", type="pkg.install", name="x", version="1.0.0", url=url, sha256=digest
        )
        assert answer.status_code == 202
        [asked] = await until(lambda: worker.commands("biz.pkg.install"))
        assert asked == {"name": "x", "version": "1.0.0", "url": url, "sha256": digest}
        await worker.pkg_event(name="x", version="1.0.0", status="installed")

        async def there() -> bool:
            return await ids(server, packageName="x", packageVersion="1.0.0") == ["foreign"]

        await until(there)
        assert (await command(server, "foreign", type="pkg.uninstall", name="x")).status_code == 202
        assert await until(lambda: worker.commands("biz.pkg.uninstall")) == [{"name": "x"}]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"type": "explode"}, 400),
        ({}, 400),
        ({"type": "pkg.install"}, 400),
        ({"type": "pkg.install", "name": "nowhere"}, 404),
        ({"type": "pkg.install", "name": "x", "url": "http://h/x.cwx"}, 400),
        ({"type": "pkg.install", "name": "x", "version": "1.0.0", "url": "file:///x"}, 400),
        ({"type": "pkg.install", "name": "x", "version": "1", "sha256": "short"}, 400),
        ({"type": "pkg.uninstall"}, 400),
        ({"type": "rebind", "workerId": "nobody"}, 404),
        ({"type": "rebind", "workerId": "foreign"}, 400),
    ],
)
async def test_a_command_nobody_can_carry_out_is_refused(
    server: LinkServer, body: Json, status: int
) -> None:
    async with connected(foreign(server)):
        answer = await command(server, "foreign", **body)
        assert answer.status_code == status, answer.text
        assert answer.json()["detail"]


async def test_only_operators_command_and_only_workers_that_are_there(server: LinkServer) -> None:
    viewer = await token(server, "viewer")
    denied = await viewer.post("/api/v1/workers/foreign/commands", json={"type": "drain"})
    assert denied.status_code == 403
    await viewer.aclose()
    assert (await command(server, "nobody", type="drain")).status_code == 404
    body = {"workerId": "silent", "capabilities": {}, "packages": []}
    assert (await server.http.post("/api/workers/register", json=body)).status_code == 200
    away = await command(server, "silent", type="drain")
    assert away.status_code == 409
    assert "not connected (registered)" in away.json()["detail"]
    async with connected(foreign(server, "gone")):
        pass

    async def late() -> bool:
        return bool((await command(server, "gone", type="drain")).status_code == 503)

    await until(late)
    answer = await command(server, "gone", type="drain")
    assert answer.headers["Retry-After"]
    pulled = {"id": "puller", "transport": "pull", "services": ["s"], "capacity": 1}
    assert (await server.http.post("/api/v1/workers", json=pulled)).status_code == 200
    assert (await command(server, "puller", type="drain")).status_code == 409


async def test_rebinding_moves_what_waits_to_the_worker_named(server: LinkServer) -> None:
    gate = Gate()
    old = listening(server, "old", handler=gate, max_parallel=1)
    async with connected(old):
        bound = await server.start(chain("bound", "demo.a", "demo.b"))
        await until(lambda: old.running == 1)
        at = f"/api/v1/scheduler/runs/{bound}/rebind"
        alone = await server.http.post(at, json={})
        assert alone.status_code == 503  # nobody else has the package
        assert alone.headers["Retry-After"]
        assert (await server.http.post(at, json={"workerId": "nobody"})).status_code == 404
        bare = foreign(server, "bare", packages=[("extra", "1.0.0")])
        async with connected(foreign(server, "new")) as new, connected(bare):
            lacking = await server.http.post(at, json={"workerId": "bare"})
            assert lacking.status_code == 409
            assert "demo@1.0.0" in lacking.json()["detail"]
            moved = await server.http.post(at, json={"workerId": "new"})
            assert moved.status_code == 202, moved.text
            assert moved.json()["was"] == {"demo": "old"}
            gate.open.set()
            run = await server.wait(bound)
            assert run["status"] == "succeeded"
            assert [node["workerName"] for node in run["nodes"]] == ["old", "new"]
            assert len(new.executed) == 1
        ended = await server.http.post(at, json={})
        assert ended.status_code == 409
    missing = "/api/v1/scheduler/runs/00000000-0000-7000-8000-000000000000/rebind"
    assert (await server.http.post(missing, json={})).status_code == 404


async def test_all_runs_of_a_worker_are_moved_by_one_command(server: LinkServer) -> None:
    gate = Gate()
    old = listening(server, "old", handler=gate)
    async with connected(old):
        runs = [await server.start(chain(f"many-{n}", "demo.a", "demo.b")) for n in range(3)]
        await until(lambda: old.running == 3)
        assert (await command(server, "old", type="rebind")).status_code == 503
        async with connected(foreign(server, "new")) as new:
            assert (await command(server, "old", type="rebind", queue="new")).status_code == 202
            gate.open.set()
            for run_id in runs:
                assert (await server.wait(run_id))["status"] == "succeeded"
            assert len(new.executed) == 3


async def test_workers_of_the_link_announce_themselves_over_http(server: LinkServer) -> None:
    capabilities = {"concurrency": {"max_parallel": 4}, "runtimes": ["python"], "features": []}
    packages = [{"name": "demo", "version": "1.0.0", "status": "installed"}]
    body = {"workerId": "early", "capabilities": capabilities, "packages": packages}
    for path in ("/api/workers/register", "/api/v1/workers/register"):
        answer = await server.http.post(path, json=body)
        assert answer.status_code == 200, answer.text
        assert answer.json()["state"] == "registered"
        assert answer.json()["link"] == "/ws/worker"
    run_id = await server.start(chain("early", "demo.a"))  # its packages are known already
    beat = {"workerId": "early", "healthy": False, "metrics": {"inflight": 3}}
    assert (await server.http.post("/api/workers/heartbeat", json=beat)).status_code == 200
    assert await ids(server, healthy="false") == ["early"]
    assert await ids(server, maxInflight=2) == []
    async with connected(foreign(server, "early")):
        assert (await server.wait(run_id))["status"] == "succeeded"
        again = await server.http.post("/api/workers/register", json=body)
        assert again.json()["state"] == "online"  # announcing itself again changes nothing


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("register", {"capabilities": {}}, 400),
        ("register", {"workerId": "x", "packages": [{"name": "a"}]}, 400),
        ("register", {"workerId": "x" * 300, "packages": []}, 400),
        ("register", {"workerId": "x", "capabilities": {"concurrency": {"maxParallel": 0}}}, 400),
        ("heartbeat", {"workerId": "never-seen", "healthy": True}, 404),
        ("heartbeat", {"workerId": "x", "healthy": "well"}, 400),
        ("heartbeat", {"workerId": "x", "metrics": []}, 400),
    ],
)
async def test_an_announcement_that_makes_no_sense_is_refused(
    server: LinkServer, path: str, body: Json, status: int
) -> None:
    answer = await server.http.post(f"/api/v1/workers/{path}", json=body)
    assert answer.status_code == status, answer.text


async def test_a_command_under_the_same_key_is_one_command(server: LinkServer) -> None:
    at, key = "/api/v1/workers/foreign/commands", {"Idempotency-Key": "drain-1"}
    async with connected(foreign(server)):
        first = await server.http.post(at, json={"type": "drain"}, headers=key)
        again = await server.http.post(at, json={"type": "drain"}, headers=key)
        assert (first.status_code, again.status_code) == (202, 202)
        assert again.json()["commandId"] == first.json()["commandId"]
        other = await server.http.post(at, json={"type": "undrain"}, headers=key)
        assert other.status_code == 409
        assert await state(server, "foreign") == "draining"
        fresh = await server.http.post(at, json={"type": "drain"})
        assert fresh.json()["commandId"] != first.json()["commandId"]
