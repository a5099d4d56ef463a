"""What processes on one PostgreSQL database tell each other, and whether there is anybody to tell.

A commit that announces something costs more: PostgreSQL lets one such commit end at a time, and
wakes all who listen, whoever announced it among them. So a process that is alone announces nothing.
Whoever comes says `hello`. The others announce from then on, and answer `here` as soon as every
commit has ended that was to announce nothing; hearing that, the newcomer looks at everything once
more. Nobody is alone by default: a process first looks who listens, and again every now and then,
which also finds those of releases that say no hello.
"""

import asyncio
import secrets
import time
from collections.abc import Awaitable, Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any

CHANNEL = "windlass"
_LOOK_S = 5.0
_HELLO, _HERE = "hello", "here"
_OTHERS = """
    select count(*) from pg_stat_activity
    where datname = current_database() and backend_type = 'client backend' and pid <> $1
    and (query ilike 'listen%' or query = '<insufficient privilege>')
"""

Fetch = Callable[..., Awaitable[Any]]
"""Asks the database for one value."""


class Listener:
    """One process among those on a database."""

    def __init__(self, connect: Callable[[], Awaitable[Any]], fetch: Fetch) -> None:
        self._connect = connect
        self._fetch = fetch
        self._name = secrets.token_hex(4)
        self._connection: Any = None
        self._heard: asyncio.Queue[str] = asyncio.Queue(maxsize=10_000)
        self._missed = False
        self._alone = False
        self._signs = 0
        """How often somebody else was heard."""
        self._looked_at = 0.0
        self._silent = 0
        """Commits under way that announce nothing."""
        self._all_told = asyncio.Event()
        self._answers: set[asyncio.Task[None]] = set()

    async def notices(self) -> list[str]:
        """What others announced; an empty list after a break, when much may have been missed."""
        if self._connection is None or self._connection.is_closed():
            self._alone = False
            self._connection = await self._connect()
            await self._connection.add_listener(CHANNEL, self._hear)
            await self._say(_HELLO)
            await self._look()
            return []
        if time.monotonic() - self._looked_at > _LOOK_S:
            await self._look()
        heard = [await self._heard.get()]
        while not self._heard.empty():
            heard.append(self._heard.get_nowait())
        if self._missed or _HERE in heard:
            self._missed = False
            return []
        return heard

    async def _look(self) -> None:
        """See whether anybody else listens. Who has begun to meanwhile has said so."""
        signs = self._signs
        others = await self._fetch(_OTHERS, self._connection.get_server_pid())
        if signs == self._signs:
            self._alone = others == 0
        self._looked_at = time.monotonic()

    def _hear(self, connection: Any, pid: int, channel: str, payload: object) -> None:
        name, _, notice = str(payload).partition(" ")
        if name == self._name:
            return
        self._signs += 1
        self._alone = False
        if notice == _HELLO:
            answer = asyncio.ensure_future(self._answer())
            self._answers.add(answer)
            answer.add_done_callback(self._answers.discard)
        elif self._heard.full():
            self._missed = True
        else:
            self._heard.put_nowait(notice)

    async def _answer(self) -> None:
        while self._silent:
            self._all_told.clear()
            await self._all_told.wait()
        await self._say(_HERE)

    async def _say(self, notice: str) -> None:
        await self._fetch("select pg_notify($1, $2)", CHANNEL, f"{self._name} {notice}")

    @contextmanager
    def announced(self, notices: Sequence[str]) -> Generator[list[str]]:
        """What a commit is to announce; the block is the commit."""
        if not self._alone:
            yield [f"{self._name} {notice}" for notice in notices]
            return
        self._silent += 1
        try:
            yield []
        finally:
            self._silent -= 1
            if not self._silent:
                self._all_told.set()

    async def close(self) -> None:
        for answer in self._answers:
            answer.cancel()
        if self._connection is not None:
            await self._connection.close()
