"""Which version of a package a node gets: the one it names, or one that its hints let stand in."""

import asyncio
from typing import Any

import pytest

from tests.integration.link.conftest import TOKEN, LinkServer, connected
from tests.integration.link.independent import Independent, SecondGeneration
from tests.integration.link.workflows import node, workflow

pytestmark = pytest.mark.anyio
Json = dict[str, Any]


def worker_of(server: LinkServer, name: str, version: str) -> Independent:
    return SecondGeneration(server.url, name, [("demo", version)], token=TOKEN)


def hinted(name: str, least: str) -> Json:
    hints = {"workerHints": {"package": "demo", "minVersion": least}}
    return workflow(name, [node(name, "demo.a")], [], runtimes={"py": hints})


async def start_by_name(server: LinkServer, name: str) -> str:
    started = await server.http.post("/api/v1/runs", json={"flow": name})
    assert started.status_code == 202, started.text
    return str(started.json()["id"])


async def until_cut(server: LinkServer, worker: str) -> None:
    async def is_there() -> bool:
        return bool((await server.http.get(f"/api/v1/workers/{worker}")).json()["connected"])

    async with asyncio.timeout(5):
        while await is_there():  # noqa: ASYNC110  it happens in another process
            await asyncio.sleep(0.02)


async def test_a_worker_that_meets_min_version_does_what_was_published_for_another(
    server: LinkServer,
) -> None:
    body = {"definition": hinted("hinted", "1.0.0"), "dialect": "workflow"}
    async with connected(worker_of(server, "old", "1.0.0")) as old:
        published = await server.http.post("/api/v1/flows/hinted/versions", json=body)
        assert published.status_code == 201, published.text
        # Pinned to what is there, although something newer would do as well.
        async with connected(worker_of(server, "new", "1.4.0")) as new:
            await server.wait(await start_by_name(server, "hinted"))
            assert (len(old.executed), len(new.executed)) == (1, 0)
    async with connected(worker_of(server, "newer", "1.5.0")) as newer:
        run = await server.wait(await server.start(hinted("fresh", "1.2.0")))
        assert run["status"] == "succeeded"
        await until_cut(server, "old")
        run = await server.wait(await start_by_name(server, "hinted"))
        assert run["state"] == "succeeded", run
        assert len(newer.executed) == 2


async def test_what_is_below_min_version_is_not_taken(server: LinkServer) -> None:
    async with connected(worker_of(server, "low", "1.1.0")):
        body = {"workflow": hinted("high", "1.2.0"), "clientId": "tests"}
        refused = await server.http.post("/api/v1/runs", json=body)
        assert refused.status_code == 422, refused.text
        assert "1.2.0 or later" in refused.text or "is not known" in refused.text
