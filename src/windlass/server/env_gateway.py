"""The way into a leased browser: a WebSocket for whoever holds the lease, as long as it lasts."""

import asyncio
import logging

from starlette.websockets import WebSocket, WebSocketDisconnect

from windlass.engine.envs.lease import watch
from windlass.model.envs import place_name
from windlass.model.errors import WindlassError
from windlass.ports.env import PlaceError, PlaceGone, RuntimeAway, SocketEnded, StalePlace
from windlass.server.context import context_of

log = logging.getLogger(__name__)

_REFUSED = 1008
_GONE = 1011


async def drive_browser(websocket: WebSocket) -> None:
    """`/api/v1/envs/sessions/{id}/cdp`: the attempt's own token opens it, and nothing else."""
    places = context_of(websocket).places
    attempts = context_of(websocket).attempts
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
    watching = asyncio.ensure_future(watch(context_of(websocket).engine, session, revoked))
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
