"""`windlass env-host`: offers the runtimes of this machine to servers, for as long as it runs."""

import asyncio
import logging
from collections.abc import Sequence
from urllib.parse import urlencode

import msgspec
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus

from windlass.client.backoff import Backoff
from windlass.client.tls import tls_context
from windlass.drivers.env.exchange import IMAGES
from windlass.drivers.env.frames import Framed
from windlass.drivers.env.host import EnvHost
from windlass.drivers.env.remote import RemoteBackend, RemoteImages
from windlass.drivers.env.remote_host import RemoteHost
from windlass.engine.envs.hosts import Hosts
from windlass.ports.env import SocketEnded
from windlass.server.env_host_link import HostSocket

log = logging.getLogger(__name__)

_OPEN_S = 10.0


class HostSettings(msgspec.Struct, frozen=True):
    """What a host of environments is told."""

    servers: tuple[str, ...]
    name: str
    token: str = ""
    tls_ca: str = ""


async def offer_to_all(host: EnvHost, settings: HostSettings) -> None:
    """Be connected to every server, whatever becomes of the connections."""
    async with asyncio.TaskGroup() as group:
        for server in settings.servers:
            group.create_task(_offer(host, settings, server))


async def _offer(host: EnvHost, settings: HostSettings, server: str) -> None:
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
            log.warning("%s cannot be reached: %s", server, error)
        else:
            log.info("connected to %s as %s", server, settings.name)
            backoff = Backoff()
            await host.run(Framed(OwnSocket(connection)))
            log.warning("the connection to %s is gone", server)
        await asyncio.sleep(backoff.pause_s())


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

    def __init__(self, hosts: Hosts) -> None:
        self._hosts = hosts

    async def take(self, socket: HostSocket, name: str, kinds: Sequence[str]) -> None:
        remote, channel = RemoteHost(name), Framed(socket)
        remote.attach(channel)
        backends = {kind: RemoteBackend(remote, kind) for kind in kinds if kind != IMAGES}
        images = RemoteImages(remote) if IMAGES in kinds else None
        self._hosts.add(name, backends, images)
        try:
            await remote.run(channel)
        finally:
            self._hosts.drop(name, backends)
