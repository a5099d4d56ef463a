"""What a bus promises (`ports/bus.py`), within the process, on a real NATS and a real Redis."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable

import pytest

from windlass.drivers.bus.memory import MemoryBus
from windlass.drivers.bus.nats import NatsBus
from windlass.drivers.bus.redis import RedisBus
from windlass.model.errors import Unavailable
from windlass.ports.bus import Bus, Message, Unpublishable
from windlass.testing.loopback import free_port
from windlass.testing.servers import NatsServer, RedisServer

pytestmark = pytest.mark.anyio


class Buses:
    """Opens a bus as one process after another would."""

    def __init__(self, prefix: str, make: Callable[[str], Bus]) -> None:
        self.root = f"{prefix}.run.event"
        self._make = make
        self._prefix = prefix
        self._made: list[Bus] = []

    def open(self) -> Bus:
        self._made.append(self._make(self._prefix))
        return self._made[-1]

    def message(self, number: int, subject: str = "r1.run_started") -> Message:
        return Message(f"id-{number}", f"{self.root}.{subject}", b"body %d" % number)

    async def close(self) -> None:
        for bus in self._made:
            await bus.close()


@pytest.fixture(params=["memory", "nats", "redis"])
async def buses(
    request: pytest.FixtureRequest, nats_server: NatsServer, redis_server: RedisServer
) -> AsyncGenerator[Buses]:
    one = MemoryBus()
    make: dict[str, Callable[[str], Bus]] = {
        "memory": lambda prefix: one,
        "nats": lambda prefix: NatsBus([nats_server.url], prefix),
        "redis": lambda prefix: RedisBus([redis_server.url], prefix),
    }
    buses = Buses(f"test{free_port()}", make[request.param])
    yield buses
    await buses.close()


async def next_of(messages: AsyncIterator[Message], count: int) -> list[Message]:
    async with asyncio.timeout(10):
        return [await anext(messages) for _ in range(count)]


async def test_who_subscribes_gets_what_is_published_then_in_order(buses: Buses) -> None:
    bus = buses.open()
    await bus.publish([buses.message(0)])
    async with bus.subscribe(buses.root) as messages:
        sent = [buses.message(number) for number in range(1, 51)]
        await bus.publish(sent[:20])
        await bus.publish(sent[20:])
        assert await next_of(messages, 50) == sent


async def test_the_same_id_is_kept_once_whoever_publishes_it(buses: Buses) -> None:
    bus, other = buses.open(), buses.open()
    async with bus.subscribe(buses.root) as messages:
        await bus.publish([buses.message(1), buses.message(2)])
        await other.publish([buses.message(1), buses.message(2), buses.message(3)])
        assert [found.id for found in await next_of(messages, 3)] == ["id-1", "id-2", "id-3"]
        await bus.publish([buses.message(4)])
        assert [found.id for found in await next_of(messages, 1)] == ["id-4"]


async def test_a_subscription_names_the_first_words_of_a_subject(buses: Buses) -> None:
    bus = buses.open()
    async with bus.subscribe(f"{buses.root}.r2") as messages:
        subjects = ["r1.a", "r22.a", "r2.b"]
        await bus.publish([buses.message(n, subject) for n, subject in enumerate(subjects)])
        assert [found.id for found in await next_of(messages, 1)] == ["id-2"]


async def test_all_who_subscribe_get_all(buses: Buses) -> None:
    bus, other = buses.open(), buses.open()
    async with bus.subscribe(buses.root) as here, other.subscribe(buses.root) as there:
        await bus.publish([buses.message(1)])
        assert await next_of(here, 1) == await next_of(there, 1) == [buses.message(1)]


@pytest.mark.parametrize("make", [NatsBus, RedisBus])
async def test_a_bus_that_is_away_says_so_and_is_used_once_it_is_back(
    make: type[NatsBus | RedisBus], tmp_path_factory: pytest.TempPathFactory
) -> None:
    kind = NatsServer if make is NatsBus else RedisServer
    server = kind(tmp_path_factory.mktemp("bus"))
    server.start()
    bus = make([server.url], "back")
    try:
        await bus.publish([Message("1", "back.run.event.a", b"1")])
        server.stop()
        with pytest.raises(Unavailable):
            await bus.publish([Message("2", "back.run.event.a", b"2")])
        server.start()
        async with bus.subscribe("back.run.event") as messages:
            await bus.publish(
                [Message("1", "back.run.event.a", b"1"), Message("2", "back.run.event.a", b"2")]
            )
            assert [found.id for found in await next_of(messages, 1)] == ["2"], "1 was kept before"
    finally:
        await bus.close()
        server.stop()


async def test_what_is_too_large_is_refused_for_good(nats_server: NatsServer) -> None:
    bus = NatsBus([nats_server.url], "large")
    with pytest.raises(Unpublishable, match="more than NATS takes"):
        await bus.publish([Message("1", "large.run.event.a", b"x" * 2_000_000)])
    await bus.close()
