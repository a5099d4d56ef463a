"""The connection of a machine that has runtimes of environments and offers them to this server.

Like event streams it ends with the right to it: when its token is revoked, and when tenants come
that the token is not for.
"""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Sequence

import anyio
from starlette.websockets import WebSocket, WebSocketDisconnect

from windlass.engine.workers import check_id
from windlass.model.errors import BadRequest, Denied, Unauthorized, Unavailable, WindlassError
from windlass.model.tenants import ALL
from windlass.ports.env import SocketEnded
from windlass.server.auth import STALE_MS, bearer, check_local
from windlass.server.context import context_of

log = logging.getLogger(__name__)

_REFUSED = 1008
_LAST_WORD_S = 0.5
_KINDS_MAX = 20
Offer = Callable[["HostSocket", str, Sequence[str]], Awaitable[None]]
"""Uses what a host offers, by its name and kinds, for as long as its socket lasts."""


async def env_host_link(websocket: WebSocket) -> None:
    """`/ws/env-host?name=…&kinds=…`"""
    name = websocket.query_params.get("name", "")
    kinds = [kind for kind in websocket.query_params.get("kinds", "").split(",") if kind]
    try:
        await _check(websocket, name, kinds)
    except WindlassError as error:
        await websocket.close(_REFUSED, str(error)[:100])
        return
    await websocket.accept()
    log.info("env host %s offers %s", name, ", ".join(kinds))
    offer = context_of(websocket).env_host_offer
    using = asyncio.ensure_future(offer(HostSocket(websocket), name, kinds))
    refusing = asyncio.ensure_future(_refused(websocket, name))
    try:
        await asyncio.wait((using, refusing), return_when=asyncio.FIRST_COMPLETED)
    finally:
        both = (using, refusing)
        for one in both:
            one.cancel()
        await asyncio.wait(both)
    if not refusing.cancelled():
        log.warning("env host %s: %s", name, refusing.result())
        # One that answers nothing any more is not waited for.
        with anyio.move_on_after(_LAST_WORD_S), contextlib.suppress(RuntimeError):
            await websocket.close(_REFUSED, str(refusing.result())[:100])
    log.info("env host %s is gone", name)
    if not using.cancelled():
        using.result()


async def _check(websocket: WebSocket, name: str, kinds: Sequence[str]) -> None:
    check_id(name)
    if not kinds or len(kinds) > _KINDS_MAX:
        raise BadRequest("say which kinds of environments it has: kinds=container,browser")
    await _check_right(websocket, name)


async def _refused(websocket: WebSocket, name: str) -> WindlassError:
    """Why a host that is connected may be so no longer, once that is so."""
    while True:
        await asyncio.sleep(STALE_MS / 1000)
        try:
            await _check_right(websocket, name)
        except (Unauthorized, Denied) as error:
            return error
        except Unavailable:
            continue  # nobody can say, and it was good a moment ago


async def _check_right(websocket: WebSocket, name: str) -> None:
    """Whether whoever has the token may be the host of that name now."""
    auth = context_of(websocket).auth
    engine = context_of(websocket).engine
    if not auth.required:
        check_local(websocket)
        return
    who = await auth.who(bearer(websocket), STALE_MS)
    if not who.may("worker"):
        raise Denied(f"this needs the worker role; the token is a {who.role}'s")
    who.check_worker(name)
    if who.home != ALL and len(engine.tenants.names) > 1:
        raise Denied("a host serves all tenants; use a token of the whole system")


class HostSocket:
    """Messages to and from a host, whole and in order."""

    def __init__(self, websocket: WebSocket) -> None:
        self._websocket = websocket

    async def send(self, message: bytes) -> None:
        try:
            await self._websocket.send_bytes(message)
        except (WebSocketDisconnect, RuntimeError) as error:
            raise SocketEnded(str(error)) from error

    async def recv(self) -> bytes:
        try:
            return await self._websocket.receive_bytes()
        except (WebSocketDisconnect, RuntimeError, KeyError) as error:
            raise SocketEnded(str(error)) from error
