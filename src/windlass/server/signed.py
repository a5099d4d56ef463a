"""Signed addresses: a worker may fetch what it was told of, for a while, whatever it can show.

Workers on the link prove themselves on their connection, by a token or a certificate; the wire says
that they fetch archives with neither.
"""

import hmac
from hashlib import sha256
from urllib.parse import unquote, urlencode

from starlette.requests import Request

from windlass.server.auth import Who
from windlass.server.context import context_of

VALID_S = 3600
_BEARER = Who("a signed address", "worker")


def sign(secret: bytes, path: str, now: float, **query: str) -> str:
    """An address whose bearer may fetch what is there."""
    query["expires"] = str(int(now) + VALID_S)
    query["signature"] = _signature(secret, path, query)
    return f"{path}?{urlencode(query)}"


async def bearer_of(request: Request) -> Who | None:
    """Who comes by a signed address; None if this is none, or not any more."""
    query = dict(request.query_params)
    shown, expires = query.pop("signature", ""), query.get("expires", "")
    if not shown or not expires.isdecimal():
        return None
    store = context_of(request).engine.store
    secret = bytes.fromhex(await store.secret())
    expected = _signature(secret, request.url.path, query)
    good = hmac.compare_digest(expected.encode(), shown.encode())
    return _BEARER if good and int(expires) * 1000 > store.now() else None


def _signature(secret: bytes, path: str, query: dict[str, str]) -> str:
    text = f"{unquote(path)}?{urlencode(sorted(query.items()))}"
    return hmac.new(secret, text.encode(), sha256).hexdigest()
