"""Serves environments of this machine to whoever is at the other end of a channel.

Questions are answered side by side, so a slow one holds up no other. When the channel ends, or
whoever asked says so, what was begun for it is given up: a command nobody waits for is ended.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Any, cast

import msgspec

from windlass.drivers.env import exchange
from windlass.drivers.env.exchange import (
    ARGUMENTS,
    ASKED_MAX,
    IMAGES,
    LONG,
    METHODS,
    SAID_MAX,
    SERVED_MAX,
    UNHEARD_BYTES_MAX,
    Answered,
    Asked,
    Channel,
    Dropped,
    Heard,
    Message,
    Printed,
    Said,
    Servers,
)
from windlass.ports.env import (
    BrowserBackend,
    EnvBackend,
    ImageBackend,
    PlaceError,
    RuntimeAway,
    SocketEnded,
)

log = logging.getLogger(__name__)

OnServers = Callable[[Servers], None]
"""Is told which servers there are, by whoever is at the other end."""


class EnvHost:
    def __init__(
        self, backends: Mapping[str, EnvBackend], images: ImageBackend | None = None
    ) -> None:
        self._backends = dict(backends)
        self._images = images

    @property
    def kinds(self) -> list[str]:
        return sorted([*self._backends, *([IMAGES] if self._images else [])])

    async def run(self, channel: Channel, on_servers: OnServers | None = None) -> None:
        """Answer until the channel ends."""
        await _Conversation(self._backends, self._images, channel, on_servers).run()


class _Conversation:
    """One channel and what is open on it."""

    def __init__(
        self,
        backends: Mapping[str, EnvBackend],
        images: ImageBackend | None,
        channel: Channel,
        on_servers: OnServers | None,
    ) -> None:
        self._backends = backends
        self._images = images
        self._channel = channel
        self._on_servers = on_servers
        self._open: dict[int, asyncio.Task[None]] = {}
        self._clients: dict[int, _Client] = {}

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            try:
                while True:
                    self._take(exchange.decode(await self._channel.recv()), group)
            except SocketEnded:
                for task in list(self._open.values()):
                    task.cancel()

    def _take(self, message: Message, group: asyncio.TaskGroup) -> None:
        match message:
            case Asked(number):
                if message.method in LONG:
                    self._clients[number] = _Client(self, number)
                task = group.create_task(self._answer(message))
                self._open[number] = task
                task.add_done_callback(lambda _: self._open.pop(number, None))
            case Dropped(number):
                if begun := self._open.get(number):
                    begun.cancel()
            case Said(number, text):
                if client := self._clients.get(number):
                    client.take(text)
            case Servers():
                if self._on_servers is not None:
                    self._on_servers(message)
            case Heard(number, cost):
                if client := self._clients.get(number):
                    client.heard(cost)
            case _:
                log.warning("a host of environments was sent %s", type(message).__name__)

    async def _answer(self, asked: Asked) -> None:
        number = asked.number
        try:
            self._check(asked)
            result = await self._do(asked)
            answer: Message = Answered(number, result)
        except Exception as error:  # one question's failure is its own
            if type(error).__name__ not in exchange.ERRORS and not isinstance(error, PlaceError):
                log.exception("an environment's %s failed", asked.method)
            answer = exchange.failed(number, error)
        finally:
            self._clients.pop(number, None)
        await self.send(answer)

    def _check(self, asked: Asked) -> None:
        most = SERVED_MAX if asked.method in LONG else ASKED_MAX
        alike = len(self._clients) if asked.method in LONG else len(self._open) - len(self._clients)
        if alike > most:
            raise RuntimeAway(f"more than {most} questions are open on this channel")
        if asked.method not in METHODS:
            raise PlaceError(f'"{asked.method}" is nothing that a host of environments does')

    async def _do(self, asked: Asked) -> Any:
        arguments = dict(asked.arguments)
        if asked.kind == IMAGES:
            if self._images is None:
                raise PlaceError("this host has no images")
            backend: object = self._images
        elif (backend := self._backends.get(asked.kind)) is None:
            raise PlaceError(f'this host has no environments of kind "{asked.kind}"')
        for name in arguments.keys() & ARGUMENTS.keys():
            arguments[name] = msgspec.convert(arguments[name], ARGUMENTS[name])
        if asked.method == "serve":
            client, never = self._clients[asked.number], asyncio.Event()
            return await cast(BrowserBackend, backend).serve(
                **arguments, client=client, revoked=never
            )
        if asked.method == "build":
            arguments["on_log"] = self._clients[asked.number].send
        if asked.method == "execute" and arguments.pop("aloud", False):
            arguments["on_output"] = self._clients[asked.number].print
        return await getattr(backend, asked.method)(**arguments)

    async def send(self, message: Message) -> None:
        try:
            await self._channel.send(exchange.encode(message))
        except SocketEnded:
            log.debug("nobody hears the answer to question %s any more", message.number)


class _Client:
    """Whoever is at the other end of a question: a DevTools client, as a socket here, or a reader
    of what a command or a build says."""

    def __init__(self, conversation: _Conversation, number: int) -> None:
        self._conversation = conversation
        self._number = number
        self._said: asyncio.Queue[str | None] = asyncio.Queue()
        self._unheard = 0
        self._room = asyncio.Event()

    def take(self, text: str | None) -> None:
        behind = self._said.qsize() >= SAID_MAX
        self._said.put_nowait(None if behind else text)

    async def send(self, message: str) -> None:
        await self._conversation.send(Said(self._number, message))

    async def print(self, stream: str, data: bytes) -> None:
        """Pass on what a command says, once what it said before has been read."""
        while self._unheard > UNHEARD_BYTES_MAX:
            self._room.clear()
            await self._room.wait()
        piece = Printed(self._number, stream, data)
        self._unheard += piece.cost
        await self._conversation.send(piece)

    def heard(self, cost: int) -> None:
        self._unheard -= cost
        self._room.set()

    async def recv(self) -> str:
        text = await self._said.get()
        if text is None:
            raise SocketEnded
        return text
