"""Many who change the same row at the same moment take turns, and none is sent away."""

import asyncio

import httpx
import pytest

from tests.integration.conftest import TOKEN, Served
from tests.packages import archive

pytestmark = pytest.mark.anyio

AT_ONCE = 100


def client(served: Served) -> httpx.AsyncClient:
    headers = {"Authorization": f"Bearer {TOKEN}"}
    limits = httpx.Limits(max_connections=AT_ONCE)
    return httpx.AsyncClient(base_url=served.server.url, headers=headers, timeout=60, limits=limits)


async def test_a_hundred_versions_of_a_package_are_published_at_once(served: Served) -> None:
    async with client(served) as http:

        async def publish(number: int) -> int:
            content = archive(name="crowded", version=f"1.0.{number}")
            files = {"file": ("p.cwx", content, "application/zip")}
            answer = await http.post("/api/v1/published-packages", files=files)
            return answer.status_code

        assert await publish(0) == 201
        answers = await asyncio.gather(*(publish(number) for number in range(1, AT_ONCE + 1)))
        assert set(answers) == {201}
        found = (await http.get("/api/v1/published-packages/crowded")).json()
        assert found["latestVersion"] == f"1.0.{AT_ONCE}"


async def test_a_new_package_is_made_once_by_whoever_publishes_it_first(served: Served) -> None:
    async with client(served) as http:

        async def publish(number: int) -> int:
            content = archive(name="contested", version=f"1.0.{number}")
            files = {"file": ("p.cwx", content, "application/zip")}
            return (await http.post("/api/v1/published-packages", files=files)).status_code

        assert set(await asyncio.gather(*map(publish, range(20)))) == {201}


async def test_one_version_uploaded_a_hundred_times_at_once_is_published_once(
    served: Served,
) -> None:
    content = archive(name="repeated")
    async with client(served) as http:

        async def publish() -> int:
            files = {"file": ("p.cwx", content, "application/zip")}
            return (await http.post("/api/v1/published-packages", files=files)).status_code

        answers = await asyncio.gather(*(publish() for _ in range(AT_ONCE)))
        assert set(answers) <= {200, 201}
        assert answers.count(201) == 1


async def test_a_hundred_versions_of_a_flow_are_published_at_once(served: Served) -> None:
    """On both surfaces, and each has a number of its own."""

    def text(number: int) -> dict[str, object]:
        timer = {"kind": "timer", "params": {"delay_ms": number}}
        return {"start": "t", "nodes": {"t": timer}, "edges": []}

    async with client(served) as http:

        async def native(number: int) -> int:
            body = {"definition": text(number)}
            return (await http.post("/api/v1/flows/crowded/versions", json=body)).status_code

        made = (await http.post("/api/flows", json={"Name": "crowded pocket"})).json()["id"]

        async def pocketflow(number: int) -> int:
            body = {"FlowID": made, "DefinitionJSON": text(number), "Status": "published"}
            return (await http.post("/api/flows/version", json=body)).status_code

        assert set(await asyncio.gather(*map(native, range(AT_ONCE)))) == {201}
        assert set(await asyncio.gather(*map(pocketflow, range(AT_ONCE)))) == {200}
        versions = (await http.get("/api/flows/version", params={"flow_id": made})).json()
        assert sorted(row["version"] for row in versions) == list(range(1, AT_ONCE + 1))


async def test_a_resource_of_environments_is_changed_many_times_at_once(served: Served) -> None:
    """Nobody's change is lost, and one that comes after the deletion finds nothing."""
    async with client(served) as http:
        made = {"name": "crowded", "kind": "noop", "capacity": 1}
        assert (await http.post("/api/v1/envs/resources", json=made)).status_code == 201
        at = "/api/v1/envs/resources/crowded"

        async def change(number: int) -> int:
            body = {"capacity": 7} if number % 2 else {"metadata": {"by": "somebody"}}
            return (await http.patch(at, json=body)).status_code

        assert set(await asyncio.gather(*map(change, range(AT_ONCE)))) == {200}
        found = (await http.get(at)).json()
        assert (found["capacity"], found["metadata"]) == (7, {"by": "somebody"})
        deleted = asyncio.ensure_future(http.delete(at))
        answers = await asyncio.gather(*map(change, range(AT_ONCE)))
        assert set(answers) <= {200, 404}
        assert (await deleted).status_code == 200
        assert (await http.get(at)).status_code == 404
