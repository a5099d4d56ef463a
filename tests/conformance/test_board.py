"""What a copy of the blackboard promises (`ports/board.py`), here, on real NATS and real Redis."""

import asyncio
from collections.abc import AsyncGenerator, Callable

import pytest

from windlass.drivers.board.memory import MemoryBoard
from windlass.drivers.board.nats import NatsBoard
from windlass.drivers.board.redis import RedisBoard
from windlass.model.errors import Unavailable
from windlass.ports.board import Board, BoardCopy
from windlass.ports.bus import Unpublishable
from windlass.testing.loopback import free_port
from windlass.testing.servers import NatsServer, RedisServer

pytestmark = pytest.mark.anyio

KEY = "bb.task.01a3185c-7566-74c2-8128-d6c13e0d20fc~plan.0~t%20ö.0.progress.pages"
"""With every kind of sign that a task's id may have."""


class Boards:
    """Opens the same board as one process after another would."""

    def __init__(self, make: Callable[[], Board]) -> None:
        self._make = make
        self._made: list[Board] = []

    def open(self) -> Board:
        self._made.append(self._make())
        return self._made[-1]

    async def close(self) -> None:
        for board in self._made:
            await board.close()


@pytest.fixture(params=["memory", "nats", "redis"])
async def boards(
    request: pytest.FixtureRequest, nats_server: NatsServer, redis_server: RedisServer
) -> AsyncGenerator[Boards]:
    one, prefix = MemoryBoard(), f"test{free_port()}"
    make: dict[str, Callable[[], Board]] = {
        "memory": lambda: one,
        "nats": lambda: NatsBoard([nats_server.url], prefix),
        "redis": lambda: RedisBoard([redis_server.url], prefix),
    }
    boards = Boards(make[request.param])
    yield boards
    await boards.close()


async def test_what_is_put_is_read_by_others(boards: Boards) -> None:
    here, there = boards.open(), boards.open()
    assert await there.get(KEY) is None
    assert await there.list("bb.") == {}
    entry = BoardCopy(KEY, 4, b'{"payload": 3}')
    await here.put([entry, BoardCopy("bb.run.r1.context.goal", 1, b"{}")])
    assert await there.get(KEY) == entry
    assert await there.list("bb.task.") == {KEY: 4}
    assert await there.list("bb.") == {"bb.run.r1.context.goal": 1, KEY: 4}


async def test_of_one_key_the_newest_revision_stands_in_whatever_order_they_come(
    boards: Boards,
) -> None:
    board = boards.open()
    await board.put([BoardCopy(KEY, 7, b"seven"), BoardCopy(KEY, 5, b"five")])
    await board.put([BoardCopy(KEY, 6, b"six"), BoardCopy(KEY, 7, b"again")])
    assert await board.get(KEY) == BoardCopy(KEY, 7, b"seven")


async def test_what_was_taken_away_does_not_come_back_by_an_older_write(boards: Boards) -> None:
    board = boards.open()
    await board.put([BoardCopy(KEY, 2, b"two")])
    await board.put([BoardCopy(KEY, 3, b"", deleted=True)])
    await board.put([BoardCopy(KEY, 2, b"two")])
    assert await board.get(KEY) is None
    assert await board.list("bb.") == {}
    await board.put([BoardCopy(KEY, 4, b"four")])
    assert await board.get(KEY) == BoardCopy(KEY, 4, b"four")


async def test_many_who_put_at_once_leave_the_newest(boards: Boards) -> None:
    several = [boards.open() for _ in range(4)]
    numbers = [*range(1, 41)]
    await asyncio.gather(
        *(
            several[number % 4].put([BoardCopy(KEY, number, b"%d" % number)])
            for number in sorted(numbers, key=lambda number: number * 17 % 41)
        )
    )
    assert await several[0].get(KEY) == BoardCopy(KEY, 40, b"40")


@pytest.mark.parametrize("make", [NatsBoard, RedisBoard])
async def test_a_board_that_is_away_says_so_and_takes_all_again_when_it_is_back_empty(
    make: type[NatsBoard | RedisBoard], tmp_path_factory: pytest.TempPathFactory
) -> None:
    kind = NatsServer if make is NatsBoard else RedisServer
    server = kind(tmp_path_factory.mktemp("board"))
    server.start()
    board = make([server.url], "back")
    try:
        await board.put([BoardCopy(KEY, 1, b"one")])
        server.stop()
        with pytest.raises(Unavailable):
            await board.put([BoardCopy(KEY, 2, b"two")])
        server.start()
        await board.put([BoardCopy(KEY, 2, b"two")])
        assert await board.get(KEY) == BoardCopy(KEY, 2, b"two")
    finally:
        await board.close()
        server.stop()


async def test_what_is_too_large_is_refused_for_good(nats_server: NatsServer) -> None:
    board = NatsBoard([nats_server.url], "large")
    with pytest.raises(Unpublishable, match="more than NATS takes"):
        await board.put([BoardCopy(KEY, 1, b"x" * 2_000_000)])
    await board.close()
