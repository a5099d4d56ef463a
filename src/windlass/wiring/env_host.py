"""`windlass env-host`: offers the runtimes of this machine to servers, for as long as it runs."""

import asyncio
import contextlib
import logging
import platform
from collections.abc import Mapping, Sequence
from functools import partial
from urllib.parse import urlencode, urlsplit

import msgspec
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus

from windlass.client.backoff import Backoff
from windlass.client.tls import tls_context, why_unreachable
from windlass.drivers.env.exchange import IMAGES, Servers
from windlass.drivers.env.frames import Framed
from windlass.drivers.env.host import EnvHost
from windlass.drivers.env.remote import RemoteBackend, RemoteImages
from windlass.drivers.env.remote_host import RemoteHost
from windlass.engine.engine import Engine
from windlass.engine.envs.hosts import Hosts
from windlass.engine.loops.control import live_servers
from windlass.model.errors import Unavailable
from windlass.ports.env import RuntimeAway, SocketEnded
from windlass.server.env_host_link import HostSocket
from windlass.wiring.options import ServerOptions

log = logging.getLogger(__name__)

_OPEN_S = 10.0
_LOOK_S = 2.0
"""How soon hosts are told of a server that has come."""
_EVERYWHERE = ("0.0.0.0", "::")  # noqa: S104  what is looked for, not listened on


class HostSettings(msgspec.Struct, frozen=True):
    """What a host of environments is told."""

    servers: tuple[str, ...]
    name: str
    token: str = ""
    tls_ca: str = ""


async def offer_to_all(host: EnvHost, settings: HostSettings) -> None:
    """Be connected to every server that is named, and to those that they know of."""
    for server in settings.servers:
        tls_context(server, settings.tls_ca)  # one that cannot be used is told before anything else
    async with asyncio.TaskGroup() as group:
        connections = Connections(host, settings, group)
        for server in settings.servers:
            connections.open(server)


class Connections:
    """To each server one, whatever becomes of them; also to servers nobody named, for as long as
    one that is connected says that they are there."""

    def __init__(self, host: EnvHost, settings: HostSettings, group: asyncio.TaskGroup) -> None:
        self._host = host
        self._settings = settings
        self._group = group
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._told: dict[str, Servers] = {}
        """By the server's address: what it said last, while it is connected."""

    def open(self, server: str) -> None:
        self._tasks[server] = self._group.create_task(self._offer(server))

    def _hear(self, server: str, told: Servers) -> None:
        self._told[server] = told
        self._follow()

    def _follow(self) -> None:
        """Open what is missing, and give up servers that nobody knows of any more."""
        wanted = unknown_servers(self._told)
        for server in wanted - set(self._tasks):
            log.info("told of a server at %s", server)
            self.open(server)
        if not self._told:
            return  # nobody can say; who was there may be there again before the others
        kept = {*self._settings.servers, *wanted, *self._told}
        for server in set(self._tasks) - kept:
            log.info("nobody knows of a server at %s any more", server)
            self._tasks.pop(server).cancel()

    async def _offer(self, server: str) -> None:
        settings, host = self._settings, self._host
        query = urlencode({"name": settings.name, "kinds": ",".join(host.kinds)})
        url = "ws" + server.rstrip("/").removeprefix("http") + f"/ws/env-host?{query}"
        headers = {"Authorization": f"Bearer {settings.token}"} if settings.token else {}
        backoff = Backoff()
        while True:
            try:
                connection = await connect(
                    url,
                    additional_headers=headers,
                    open_timeout=_OPEN_S,
                    compression=None,
                    proxy=None,
                    ssl=tls_context(server, settings.tls_ca),
                )
            except InvalidStatus as error:
                log.error("%s refused: %s; check --token", server, error)
            except (OSError, TimeoutError, InvalidHandshake) as error:
                log.warning("%s cannot be reached: %s", server, why_unreachable(error))
            else:
                log.info("connected to %s as %s", server, settings.name)
                backoff = Backoff()
                try:
                    await host.run(Framed(OwnSocket(connection)), partial(self._hear, server))
                finally:
                    self._told.pop(server, None)
                log.warning("the connection to %s is gone", server)
            await asyncio.sleep(backoff.pause_s())


def unknown_servers(told: Mapping[str, Servers]) -> set[str]:
    """Addresses of servers that are there and that no connection leads to yet, or only theirs. A
    loopback address is another machine's unless we reach the server that told us by one."""
    reached = {said.me for server, said in told.items() if said.urls.get(said.me) != server}
    return {
        url
        for server, said in told.items()
        for name, url in said.urls.items()
        if name not in reached and (is_loopback(server) or not is_loopback(url))
    }


def is_loopback(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    return host == "localhost" or host == "::1" or host.startswith("127.")


class OwnSocket:
    """This end of the same."""

    def __init__(self, connection: ClientConnection) -> None:
        self._connection = connection

    async def send(self, message: bytes) -> None:
        try:
            await self._connection.send(message)
        except ConnectionClosed as error:
            raise SocketEnded(str(error)) from error

    async def recv(self) -> bytes:
        try:
            found = await self._connection.recv()
        except ConnectionClosed as error:
            raise SocketEnded(str(error)) from error
        return found if isinstance(found, bytes) else found.encode()


class Offers:
    """What hosts offer this server, added to the runtimes it has itself."""

    def __init__(self, hosts: Hosts, engine: Engine) -> None:
        self._hosts = hosts
        self._engine = engine

    async def take(self, socket: HostSocket, name: str, kinds: Sequence[str]) -> None:
        remote, channel = RemoteHost(name), Framed(socket)
        remote.attach(channel)
        backends = {kind: RemoteBackend(remote, kind) for kind in kinds if kind != IMAGES}
        images = RemoteImages(remote) if IMAGES in kinds else None
        self._hosts.add(name, backends, images)
        telling = asyncio.ensure_future(self._tell(remote))
        try:
            await remote.run(channel)
        finally:
            telling.cancel()
            self._hosts.drop(name, backends)

    async def _tell(self, remote: RemoteHost) -> None:
        """Keep a host told which servers there are, so that it is of use through each."""
        told: dict[str, str] | None = None
        while True:
            with contextlib.suppress(Unavailable):
                found = await live_servers(self._engine)
                if found != told:
                    try:
                        await remote.send(Servers(self._engine.name, found))
                    except RuntimeAway:
                        return
                    told = found
            await asyncio.sleep(_LOOK_S)


def address_of(options: ServerOptions) -> str:
    """Where this very process is reached: as told, or where it listens; empty if nobody knows."""
    if options.advertise or "api" not in options.roles or not options.port:
        return options.advertise.rstrip("/")
    host = platform.node() if options.host in _EVERYWHERE else options.host
    scheme = "https" if options.tls_cert else "http"
    return f"{scheme}://{f'[{host}]' if ':' in host else host}:{options.port}"
