"""Who is at the other end of an encrypted connection, by the certificate that was shown."""

import asyncio
from hashlib import sha256
from typing import Any


def with_peer(state: dict[str, Any], transport: asyncio.BaseTransport) -> dict[str, Any]:
    """A connection's state with the fingerprint of its client's certificate, if there is one."""
    shown: Any = transport.get_extra_info("ssl_object")
    certificate: bytes | None = shown.getpeercert(binary_form=True) if shown else None
    if not certificate:
        return state
    # The TLS layer has checked it against the authorities the operator named.
    return {**state, "peer_fingerprint": sha256(certificate).hexdigest()}
