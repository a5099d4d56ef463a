"""What a queue of facts promises (`ports/facts.py`), on a real Redis."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest
import redis.asyncio as redis

from windlass.client.redis import redis_urls
from windlass.drivers.facts.redis_stream import RedisFacts
from windlass.model.errors import BadRequest, Unavailable
from windlass.protocol.pod_facts import STREAM, STREAM_FIELD
from windlass.testing.servers import RedisServer, free_port

pytestmark = [pytest.mark.anyio, pytest.mark.redis]


class Queue:
    """The stream, as collectors and servers see it."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.client = redis.Redis.from_url(url)

    async def say(self, *bodies: str) -> None:
        for body in bodies:
            await self.client.xadd(STREAM, {STREAM_FIELD: body})

    @asynccontextmanager
    async def source(self, name: str, idle_s: float = 30.0) -> AsyncGenerator[RedisFacts]:
        source = RedisFacts([self.url], name, idle_s=idle_s)
        try:
            yield source
        finally:
            await source.close()


@pytest.fixture
async def queue(redis_server: RedisServer) -> AsyncGenerator[Queue]:
    queue = Queue(redis_server.url)
    await queue.client.delete(STREAM)
    yield queue
    await queue.client.delete(STREAM)
    await queue.client.aclose()


async def taken(source: RedisFacts) -> dict[str, str]:
    """Facts by their id in the queue; a source may need a moment to begin."""
    for _ in range(3):
        if some := await source.take():
            return {delivery.id: delivery.body.decode() for delivery in some}
    return {}


async def test_what_was_said_before_anybody_listened_is_handed_out_in_order(queue: Queue) -> None:
    await queue.say("a", "b", "c")
    async with queue.source("one") as source:
        assert list((await taken(source)).values()) == ["a", "b", "c"]


async def test_what_is_not_done_is_handed_out_again_after_a_crash(queue: Queue) -> None:
    await queue.say("a", "b")
    async with queue.source("one") as source:
        first, _ = await taken(source)
        await source.done([first])
    async with queue.source("one") as source:
        assert list((await taken(source)).values()) == ["b"]


async def test_nobody_else_gets_it_before_its_taker_was_silent_for_long(queue: Queue) -> None:
    await queue.say("a")
    async with queue.source("one") as one, queue.source("two", idle_s=0.5) as two:
        assert list((await taken(one)).values()) == ["a"]
        assert await two.take() == [], "it is taken, and its taker may be at it"
        [delivery] = await two.take()  # the look before has waited for news, for longer than that
        assert delivery.body == b"a"
        await two.done([delivery.id])
        assert await two.take() == []


async def test_two_takers_share_what_comes(queue: Queue) -> None:
    async with queue.source("one") as one, queue.source("two") as two:
        await one.take()
        await queue.say("a")
        assert list((await taken(one)).values()) == ["a"]
        await queue.say("b")
        assert list((await taken(two)).values()) == ["b"]


async def test_what_has_no_body_comes_empty_rather_than_never(queue: Queue) -> None:
    await queue.client.xadd(STREAM, {"other": "x"})
    async with queue.source("one") as source:
        assert list((await taken(source)).values()) == [""]


async def test_an_address_nobody_answers_at_is_an_outage_and_the_next_is_tried(
    queue: Queue,
) -> None:
    await queue.say("a")
    source = RedisFacts([f"redis://127.0.0.1:{free_port()}/0", queue.url], "one")
    with pytest.raises(Unavailable):
        await source.take()
    assert list((await taken(source)).values()) == ["a"]
    await source.close()


def test_addresses_that_are_none_are_named() -> None:
    with pytest.raises(BadRequest, match="redis://HOST:PORT/0"):
        RedisFacts(redis_urls("http://x"), "one")
