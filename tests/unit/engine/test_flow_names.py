"""What a flow may be called, wherever one is named."""

import httpx
import pytest

from windlass import Client
from windlass.engine import flows
from windlass.model.errors import BadRequest
from windlass.testing.local import local_engine

DEFINITION = {"start": "a", "nodes": {"a": {"service": "s"}}}


@pytest.mark.anyio
@pytest.mark.parametrize("name", [".", "..", "a/b", "a\0b", " ", "x" * 201])
async def test_a_name_that_no_address_can_have_is_refused(name: str) -> None:
    async with local_engine({}) as local:
        with pytest.raises(BadRequest, match="a flow"):
            await flows.publish(local.engine, name, DEFINITION)
        with pytest.raises(BadRequest, match="a flow"):
            await flows.create_flow(local.engine, name)


@pytest.mark.parametrize("name", [".", ".."])
@pytest.mark.parametrize("definition", [DEFINITION, "start: a\nnodes: {a: {service: s}}\n"])
def test_the_client_says_so_where_the_name_would_not_reach_the_server(
    name: str, definition: object
) -> None:
    def nothing(request: httpx.Request) -> httpx.Response:
        raise AssertionError(request.url)

    client = Client("http://server", transport=httpx.MockTransport(nothing))
    with pytest.raises(BadRequest, match="cannot be called"):
        client.publish(name, definition)  # type: ignore[arg-type]


@pytest.mark.anyio
@pytest.mark.parametrize("name", ["...", ".a", "v1.2", "节"])
async def test_dots_in_a_name_are_as_good_as_letters(name: str) -> None:
    async with local_engine({}) as local:
        assert (await flows.publish(local.engine, name, DEFINITION)).flow.name == name
