"""WebSockets that know who is at the other end: the client certificate of an encrypted link."""

import asyncio
import logging

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.protocol import State

from windlass.wiring.peers import with_peer


class PeerWebSockets(WebSocketsSansIOProtocol):
    """Puts the fingerprint of the client's certificate into the connection's state."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.app_state = with_peer(self.app_state, transport)
        super().connection_made(transport)

    def send_receive_event_to_app(self) -> None:
        """A text that is none and a goodbye may come in one read. By then the goodbye has been
        answered, and uvicorn would fail on closing a second time, with the reason it has for it.
        """
        if self.conn.state is not State.OPEN and self.curr_msg_data_type == "text":
            try:
                b"".join(self.frames).decode()
            except UnicodeDecodeError:
                self.frames = []
                return
        super().send_receive_event_to_app()


def _in_one_line(record: logging.LogRecord) -> bool:
    """What a stranger sends is no mistake of ours: it is told in a line, without a traceback."""
    if str(record.msg).startswith("Invalid UTF-8"):
        record.exc_info = None
    return True


logging.getLogger("uvicorn.error").addFilter(_in_one_line)
