"""Pages of both clients are gone through like the lists they are parts of."""

import httpx
import pytest

from windlass import AsyncClient, Client

RUNS = {"items": [{"id": "r1", "flow": "a"}, {"id": "r2", "flow": "b"}], "next": "c"}


def answered(body: object) -> httpx.MockTransport:
    return httpx.MockTransport(lambda _: httpx.Response(200, json=body))


def test_a_page_is_its_items() -> None:
    page = Client("http://server", transport=answered(RUNS)).runs()
    assert [run.id for run in page] == ["r1", "r2"]
    assert (len(page), page.next) == (2, "c")
    assert list(Client("http://server", transport=answered({"items": []})).inbox()) == []


@pytest.mark.anyio
async def test_a_page_of_the_asynchronous_client_is_its_items_too() -> None:
    async with AsyncClient("http://server", transport=answered(RUNS)) as client:
        page = await client.runs()
        assert [run.flow for run in page] == ["a", "b"]
        assert len(page) == 2
