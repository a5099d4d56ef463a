"""What a queue of facts promises (`ports/facts.py`), on a real Redis and a real NATS."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Protocol
from uuid import uuid4

import nats
import pytest
import redis.asyncio as redis

from windlass.client.redis import redis_urls
from windlass.drivers.facts.nats_stream import NatsFacts
from windlass.drivers.facts.redis_stream import RedisFacts
from windlass.model.errors import BadRequest, Unavailable
from windlass.ports.facts import FactSource
from windlass.protocol.pod_facts import STREAM, STREAM_FIELD
from windlass.testing.loopback import free_port
from windlass.testing.servers import NatsServer, RedisServer

pytestmark = [pytest.mark.anyio, pytest.mark.redis]


class Queue(Protocol):
    """A queue, as those who state facts and servers see it."""

    async def say(self, *bodies: str) -> None: ...

    def open(self, name: str, idle_s: float) -> FactSource: ...

    async def close(self) -> None: ...


class RedisQueue:
    def __init__(self, url: str) -> None:
        self.url = url
        self.client = redis.Redis.from_url(url)

    async def say(self, *bodies: str) -> None:
        for body in bodies:
            await self.client.xadd(STREAM, {STREAM_FIELD: body} if body else {"other": "x"})

    def open(self, name: str, idle_s: float) -> FactSource:
        return RedisFacts([self.url], name, idle_s=idle_s)

    async def close(self) -> None:
        await self.client.delete(STREAM)
        await self.client.aclose()


class NatsQueue:
    """All takers are one consumer, so how long one may be silent is the same for all."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.prefix = f"t{uuid4().hex}"

    async def say(self, *bodies: str) -> None:
        source = NatsFacts([self.url], self.prefix, idle_s=2.5)
        await source.make()
        await source.close()
        client = await nats.connect(self.url)
        for body in bodies:
            subject = f"{self.prefix}.attempt.fact.run.attempt.started"
            await client.jetstream().publish(subject, body.encode())
        await client.close()

    def open(self, name: str, idle_s: float) -> FactSource:
        return NatsFacts([self.url], self.prefix, idle_s=2.5)

    async def close(self) -> None:
        client = await nats.connect(self.url)
        await client.jetstream().delete_stream(f"{self.prefix.upper()}_ATTEMPT_FACTS")
        await client.close()


@pytest.fixture(params=["redis", "nats"])
async def queue(
    request: pytest.FixtureRequest, redis_server: RedisServer, nats_server: NatsServer
) -> AsyncGenerator[Queue]:
    found: Queue
    if request.param == "redis":
        found = RedisQueue(redis_server.url)
        await found.client.delete(STREAM)
    else:
        found = NatsQueue(nats_server.url)
    yield found
    await found.close()


@asynccontextmanager
async def source_of(queue: Queue, name: str, idle_s: float = 30.0) -> AsyncGenerator[FactSource]:
    source = queue.open(name, idle_s)
    try:
        yield source
    finally:
        await source.close()


async def taken(source: FactSource) -> dict[str, str]:
    """Facts by their id in the queue; a source may need a moment to begin."""
    for _ in range(3):
        if some := await source.take():
            return {delivery.id: delivery.body.decode() for delivery in some}
    return {}


async def test_what_was_said_before_anybody_listened_is_handed_out_in_order(queue: Queue) -> None:
    await queue.say("a", "b", "c")
    async with source_of(queue, "one") as source:
        assert list((await taken(source)).values()) == ["a", "b", "c"]


async def test_what_is_not_done_is_handed_out_again_after_a_crash(queue: Queue) -> None:
    await queue.say("a", "b")
    async with source_of(queue, "one") as source:
        first, _ = await taken(source)
        await source.done([first])
    async with source_of(queue, "one") as source:
        assert list((await taken(source)).values()) == ["b"]


async def test_nobody_else_gets_it_before_its_taker_was_silent_for_long(queue: Queue) -> None:
    await queue.say("a")
    async with source_of(queue, "one") as one, source_of(queue, "two", idle_s=0.5) as two:
        assert list((await taken(one)).values()) == ["a"]
        assert await two.take() == [], "it is taken, and its taker may be at it"
        [delivery] = await two.take()  # the look before has waited for news, for longer than that
        assert delivery.body == b"a"
        await two.done([delivery.id])
        assert await two.take() == []


async def test_two_takers_share_what_comes(queue: Queue) -> None:
    async with source_of(queue, "one") as one, source_of(queue, "two") as two:
        await one.take()
        await queue.say("a")
        assert list((await taken(one)).values()) == ["a"]
        await queue.say("b")
        assert list((await taken(two)).values()) == ["b"]


async def test_what_has_no_body_comes_empty_rather_than_never(queue: Queue) -> None:
    await queue.say("")
    async with source_of(queue, "one") as source:
        assert list((await taken(source)).values()) == [""]


async def test_an_address_nobody_answers_at_is_an_outage_and_the_next_is_tried(
    redis_server: RedisServer,
) -> None:
    queue = RedisQueue(redis_server.url)
    await queue.say("a")
    source = RedisFacts([f"redis://127.0.0.1:{free_port()}/0", queue.url], "one")
    with pytest.raises(Unavailable):
        await source.take()
    assert list((await taken(source)).values()) == ["a"]
    await source.close()
    await queue.close()


async def test_a_nats_nobody_answers_at_is_an_outage(nats_server: NatsServer) -> None:
    away = NatsFacts([f"nats://127.0.0.1:{free_port()}"], "t")
    with pytest.raises(Unavailable):
        await away.take()
    queue = NatsQueue(nats_server.url)
    await queue.say("a")
    urls = [f"nats://127.0.0.1:{free_port()}", queue.url]
    source = NatsFacts(urls, queue.prefix)
    assert list((await taken(source)).values()) == ["a"]
    await source.close()
    await queue.close()


def test_addresses_that_are_none_are_named() -> None:
    with pytest.raises(BadRequest, match="redis://HOST:PORT/0"):
        RedisFacts(redis_urls("http://x"), "one")
