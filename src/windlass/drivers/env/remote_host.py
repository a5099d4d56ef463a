"""This end of a channel to a host of environments: questions asked, and their answers waited for.

While there is no channel everything is answered with `RuntimeAway`; places go on without it, and
are found again when the host is back.
"""

import asyncio
import contextlib
import itertools
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from windlass.drivers.env import exchange
from windlass.drivers.env.exchange import (
    ASKED_MAX,
    Answered,
    Asked,
    Channel,
    Dropped,
    Failed,
    Message,
    Printed,
    Said,
)
from windlass.ports.env import RuntimeAway, SocketEnded

T = TypeVar("T")
Hear = Callable[[str | None], None]
"""Is given what is said while a question is open."""
HearPiece = Callable[[Printed], None]
"""Is given what a command says."""


class RemoteHost:
    """One host, over the channel it has now; `run` reads what all others wait for."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._channel: Channel | None = None
        self._numbers = itertools.count(1)
        self._open: dict[int, asyncio.Future[Any]] = {}
        self._hearing: dict[int, Hear] = {}
        self._pieces: dict[int, HearPiece] = {}
        self._room = asyncio.Semaphore(ASKED_MAX)

    @property
    def connected(self) -> bool:
        return self._channel is not None

    def attach(self, channel: Channel) -> None:
        """Use this channel from now on, in place of any before, where nobody answers any more."""
        if self._channel is not channel:
            self._give_up()
        self._channel = channel

    async def run(self, channel: Channel) -> None:
        """Read what the host says, until the channel ends."""
        self.attach(channel)
        try:
            while True:
                self._take(exchange.decode(await channel.recv()))
        except SocketEnded:
            pass
        finally:
            if self._channel is channel:
                self._channel = None
                self._give_up()

    async def ask(self, result: type[T], kind: str, method: str, **arguments: Any) -> T:
        """Ask for a result of a type."""
        async with self._room:
            told = await self._asked(Asked(self.new_number(), kind, method, arguments))
        return msgspec.convert(told, result)

    async def talk(self, asked: Asked, hear: Hear) -> str:
        """Ask, and hear what is said before the answer."""
        self._hearing[asked.number] = hear
        try:
            return str(await self._asked(asked))
        finally:
            del self._hearing[asked.number]

    async def attend(self, result: type[T], asked: Asked, hear: HearPiece) -> T:
        """Ask for something that takes long, and hear what a command says meanwhile."""
        self._pieces[asked.number] = hear
        try:
            return msgspec.convert(await self._asked(asked), result)
        finally:
            del self._pieces[asked.number]

    def new_number(self) -> int:
        return next(self._numbers)

    async def _asked(self, asked: Asked) -> Any:
        number = asked.number
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._open[number] = answer
        try:
            await self.send(asked)
            return await answer
        except asyncio.CancelledError:
            # Nobody waits: what was begun is to be given up there as well.
            with contextlib.suppress(RuntimeAway):
                await asyncio.shield(self.send(Dropped(number)))
            raise
        finally:
            del self._open[number]

    async def send(self, message: Message) -> None:
        if self._channel is None:
            raise self._away()
        try:
            await self._channel.send(exchange.encode(message))
        except SocketEnded as error:
            raise self._away() from error

    def _take(self, message: Message) -> None:
        answer = self._open.get(message.number)
        match message:
            case Answered(_, result) if answer is not None and not answer.done():
                answer.set_result(result)
            case Failed(_, error, reason) if answer is not None and not answer.done():
                answer.set_exception(exchange.ERRORS.get(error, RuntimeAway)(reason))
            case Said(number, text) if hear := self._hearing.get(number):
                hear(text)
            case Printed(number) if take := self._pieces.get(number):
                take(message)
            case _:
                pass  # to something that nobody waits for any more

    def _give_up(self) -> None:
        for answer in self._open.values():
            if not answer.done():
                answer.set_exception(self._away())

    def _away(self) -> RuntimeAway:
        return RuntimeAway(f"the host of environments {self._name} is not connected")
