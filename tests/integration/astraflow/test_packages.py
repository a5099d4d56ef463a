"""Packages belong to whoever published them; their nodes are listed page by page."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any

import httpx
import pytest

from tests.integration.link.conftest import LinkServer
from tests.packages import archive

pytestmark = pytest.mark.anyio

AT = "/api/v1/published-packages"


class People:
    """Clients with tokens of their own names, closed with the test."""

    def __init__(self, server: LinkServer, clients: AsyncExitStack) -> None:
        self._server = server
        self._clients = clients

    async def named(self, name: str, role: str = "operator") -> httpx.AsyncClient:
        body = {"name": name, "role": role}
        made = await self._server.http.post("/api/v1/tokens", json=body)
        headers = {"Authorization": f"Bearer {made.json()['token']}"}
        client = httpx.AsyncClient(base_url=self._server.url, headers=headers, timeout=30)
        return await self._clients.enter_async_context(client)


@pytest.fixture
async def people(server: LinkServer) -> AsyncIterator[People]:
    async with AsyncExitStack() as clients:
        yield People(server, clients)


async def publish(client: httpx.AsyncClient, **changes: Any) -> httpx.Response:
    return await client.post(AT, content=archive(**changes))


async def test_only_its_owner_and_admins_change_a_package(
    server: LinkServer, people: People
) -> None:
    ann, bob = await people.named("ann"), await people.named("bob")
    assert (await publish(ann)).status_code == 201
    refused = [
        await publish(bob, version="2.0.0"),
        await bob.patch(f"{AT}/tools/versions/1.0.0", json={"status": "yanked"}),
        await bob.put(f"{AT}/tools/tags/stable", json={"version": "1.0.0"}),
        await bob.delete(f"{AT}/tools/tags/stable"),
        await bob.patch(f"{AT}/tools/visibility", json={"visibility": "public"}),
    ]
    assert [answer.status_code for answer in refused] == [403] * 5
    assert '"ann"' in refused[0].json()["message"]
    assert (await publish(ann, version="2.0.0")).status_code == 201
    assert (await publish(server.http, version="3.0.0")).status_code == 201
    found = (await ann.get(f"{AT}/tools")).json()
    assert (found["ownerId"], found["latestVersion"]) == ("ann", "3.0.0")


async def test_a_private_package_is_there_only_for_those_it_is_meant_for(
    server: LinkServer, people: People
) -> None:
    ann, bob = await people.named("ann"), await people.named("bob")
    worker = await people.named("machine", "worker")
    await publish(ann)
    change = await ann.patch(f"{AT}/tools/visibility", json={"visibility": "private"})
    assert change.status_code == 200
    for client, status in ((ann, 200), (server.http, 200), (worker, 200), (bob, 404)):
        for path in ("/api/v1/packages/tools", f"{AT}/tools/archive", "/api/v1/nodes/tools.run"):
            assert (await client.get(path)).status_code == status, path
        count = 1 if status == 200 else 0
        for path in ("/api/v1/packages", "/api/v1/nodes"):
            page = (await client.get(path)).json()
            assert len(page["items"]) == count
            assert page["nextCursor"] is None
    hidden = await bob.put(f"{AT}/tools/tags/stable", json={"version": "1.0.0"})
    assert hidden.status_code == 404


async def test_nodes_are_listed_by_page_whole_and_under_an_etag(server: LinkServer) -> None:
    await publish(server.http, nodes=("a", "b", "c"))
    first = await server.http.get("/api/v1/nodes", params={"limit": 2})
    page = first.json()
    assert [node["type"] for node in page["items"]] == ["tools.a", "tools.b"]
    node = page["items"][0]
    assert node["schema"]["parameters"] == {"type": "object"}
    assert (node["category"], node["status"], node["latestVersion"]) == (
        "Test",
        "published",
        "1.0.0",
    )
    query = {"limit": 2, "cursor": page["nextCursor"]}
    rest = (await server.http.get("/api/v1/nodes", params=query)).json()
    assert [node["type"] for node in rest["items"]] == ["tools.c"]
    assert rest["nextCursor"] is None
    for path in ("/api/v1/nodes?limit=2", "/api/v1/nodes/tools.a"):
        answer = await server.http.get(path)
        known = {"If-None-Match": answer.headers["ETag"]}
        assert (await server.http.get(path, headers=known)).status_code == 304
    before = (await server.http.get("/api/v1/nodes/tools.a")).headers["ETag"]
    await publish(server.http, version="1.1.0", nodes=("a",))
    after = await server.http.get("/api/v1/nodes/tools.a", headers={"If-None-Match": before})
    assert after.status_code == 200
    assert after.json()["latestVersion"] == "1.1.0"
