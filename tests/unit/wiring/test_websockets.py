"""What a stranger's bytes on a WebSocket may not do."""

import asyncio
from typing import Any

import pytest
from uvicorn import Config
from uvicorn.server import ServerState
from websockets.client import ClientProtocol
from websockets.frames import Frame, Opcode
from websockets.uri import parse_uri

from windlass.wiring.websockets import PeerWebSockets

pytestmark = pytest.mark.anyio
NOT_TEXT = b"\xff\xfe"


class Wire(asyncio.Transport):
    """Keeps what the server writes."""

    def __init__(self) -> None:
        super().__init__({"peername": ("127.0.0.1", 1), "sockname": ("127.0.0.1", 2)})
        self.written = b""
        self.wrote = asyncio.Event()
        self.closed = False

    def write(self, data: Any) -> None:
        self.written += bytes(data)
        self.wrote.set()

    def is_closing(self) -> bool:
        return self.closed

    def close(self) -> None:
        self.closed = True

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...


async def connected() -> tuple[PeerWebSockets, ClientProtocol, asyncio.Event]:
    """A server's end after the handshake, the client's, and whether the application heard that
    it is over."""
    over = asyncio.Event()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        while (word := await receive())["type"] != "websocket.disconnect":
            if word["type"] == "websocket.connect":
                await send({"type": "websocket.accept"})
        over.set()

    config = Config(app=app, lifespan="off", ws_ping_interval=None)
    config.load()
    server = PeerWebSockets(config=config, server_state=ServerState(), app_state={})
    wire = Wire()
    server.connection_made(wire)
    client = ClientProtocol(parse_uri("ws://127.0.0.1/"))
    client.send_request(client.connect())
    server.data_received(b"".join(client.data_to_send()))
    await wire.wrote.wait()
    client.receive_data(wire.written)
    return server, client, over


async def test_a_text_that_is_none_and_a_goodbye_at_once_end_the_connection() -> None:
    server, client, over = await connected()
    client.send_frame(Frame(Opcode.TEXT, NOT_TEXT))
    client.send_close(1000)
    server.data_received(b"".join(client.data_to_send()))
    await asyncio.wait_for(over.wait(), 5)


async def test_a_text_that_is_none_is_answered_by_its_code() -> None:
    server, client, over = await connected()
    wire: Any = server.transport
    before = len(wire.written)
    client.send_frame(Frame(Opcode.TEXT, NOT_TEXT))
    server.data_received(b"".join(client.data_to_send()))
    client.receive_data(wire.written[before:])
    assert client.close_rcvd is not None
    assert client.close_rcvd.code == 1007
    await asyncio.wait_for(over.wait(), 5)
