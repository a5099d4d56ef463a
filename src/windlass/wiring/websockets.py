"""WebSockets that know who is at the other end: the client certificate of an encrypted link."""

import asyncio
from hashlib import sha256
from typing import Any

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol


class PeerWebSockets(WebSocketsSansIOProtocol):
    """Puts the fingerprint of the client's certificate into the connection's state."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        shown: Any = transport.get_extra_info("ssl_object")
        certificate: bytes | None = shown.getpeercert(binary_form=True) if shown else None
        if certificate:
            # The TLS layer has checked it against the authorities the operator named.
            fingerprint = sha256(certificate).hexdigest()
            self.app_state = {**self.app_state, "peer_fingerprint": fingerprint}
        super().connection_made(transport)
