"""Session tokens: what a worker shows to take up its session on a new connection."""

import base64
import hashlib
import hmac

import msgspec

from windlass.protocol.link import codes
from windlass.protocol.link.envelope import Refused

TTL_S = 3600


class Claims(msgspec.Struct, frozen=True):
    """What a token says, signed."""

    sid: str
    wid: str
    tenant: str
    iat: int
    exp: int


def make_token(secret: bytes, session_id: str, instance_id: str, tenant: str, now: float) -> str:
    claims = Claims(session_id, instance_id, tenant, int(now), int(now) + TTL_S)
    body = _text(msgspec.json.encode(claims))
    return f"{body}.{_text(_sign(secret, body))}"


def read_token(secret: bytes, token: str, now: float) -> Claims:
    """The claims of a token we made that still holds, or `Refused`."""
    body, _, signature = token.partition(".")
    if not hmac.compare_digest(_text(_sign(secret, body)).encode(), signature.encode()):
        raise Refused(codes.SESSION_INVALID_TOKEN, "the session token is not ours", fatal=True)
    claims = msgspec.json.decode(
        base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)), type=Claims
    )
    if claims.exp <= now:
        raise Refused(codes.SESSION_INVALID_TOKEN, "the session token has expired", fatal=True)
    return claims


def _sign(secret: bytes, body: str) -> bytes:
    return hmac.new(secret, body.encode(), hashlib.sha256).digest()


def _text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
