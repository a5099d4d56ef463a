"""The way into a leased browser: a WebSocket for whoever holds the lease, as long as it lasts."""

import asyncio
import logging

from starlette.websockets import WebSocket, WebSocketDisconnect

from windlass.engine.attempts import Attempts
from windlass.engine.engine import Engine
from windlass.engine.envs.places import Places
from windlass.model.envs import EnvSession, EnvState, place_name
from windlass.model.errors import WindlassError
from windlass.ports.env import PlaceError, PlaceGone, RuntimeAway, SocketEnded, StalePlace

log = logging.getLogger(__name__)

_REFUSED = 1008
_GONE = 1011
_LOOK_S = 1.0
"""How soon a lease is seen to be over that another process has ended."""


async def drive_browser(websocket: WebSocket) -> None:
    """`/api/v1/envs/sessions/{id}/cdp`: the attempt's own token opens it, and nothing else."""
    places: Places = websocket.app.state.places
    attempts: Attempts = websocket.app.state.attempts
    query = websocket.query_params
    attempt_id = query.get("attempt", "")
    try:
        await attempts.check_token(attempt_id, query.get("token", ""))
        session = await places.held_by(attempt_id)
        if session.id != websocket.path_params["id"]:
            raise PlaceError("another session is meant")
        backend = places.browser(session)
    except (WindlassError, PlaceError) as error:
        await websocket.close(_REFUSED, str(error)[:100])
        return
    await websocket.accept()
    revoked = asyncio.Event()
    watching = asyncio.ensure_future(watch(websocket.app.state.engine, session, revoked))
    try:
        name, epoch = place_name(session.id), session.epoch
        ended = await backend.serve(name, epoch, ClientSocket(websocket), revoked)
        log.info("session %s: the gateway was closed by the %s", session.id, ended)
        await websocket.close(_REFUSED if ended == "revoked" else 1000)
    except (PlaceGone, PlaceError, RuntimeAway, StalePlace) as error:
        await websocket.close(_GONE, str(error)[:100])
    except (WebSocketDisconnect, RuntimeError):
        return  # RuntimeError: the framework's word for writing to a closed socket
    finally:
        watching.cancel()


async def watch(engine: Engine, session: EnvSession, revoked: asyncio.Event) -> None:
    """Notice when the session goes on to another, or ends."""
    waiter = engine.feed.watch(session.run_id)
    try:
        while not revoked.is_set():
            waiter.clear()
            async with engine.store.session() as reading:
                found = await reading.rows(EnvSession, [session.id])
            mine = found and found[0].state is EnvState.COMMITTED
            if not mine or found[0].epoch != session.epoch:
                revoked.set()
                return
            try:
                await asyncio.wait_for(waiter.wait(), _LOOK_S)
            except TimeoutError:
                continue
    finally:
        engine.feed.unwatch(session.run_id, waiter)


class ClientSocket:
    """A holder's socket as runtimes know it."""

    def __init__(self, websocket: WebSocket) -> None:
        self._websocket = websocket

    async def recv(self) -> str:
        try:
            return await self._websocket.receive_text()
        except (WebSocketDisconnect, RuntimeError, KeyError) as error:
            raise SocketEnded(str(error)) from error

    async def send(self, message: str) -> None:
        try:
            await self._websocket.send_text(message)
        except (WebSocketDisconnect, RuntimeError) as error:
            raise SocketEnded(str(error)) from error
