"""Sessions of people: signed tokens that live for minutes, checked against the user's row.

A token says who signed in and when. What that user may do, and whether at all, is read from the
row, which is remembered for a few seconds; so a user who is disabled, demoted or given another
password is out within these seconds, whatever tokens there are.
"""

import hmac
import secrets
from hashlib import sha256

import jwt
import msgspec

from windlass.engine import users
from windlass.engine.engine import Engine
from windlass.model.access import User
from windlass.model.errors import Unauthorized

_ISSUER = "windlass"
_ALGORITHM = "HS256"
_CACHE_MS = 5_000
_CACHE_MAX = 10_000
RENEW_S = 12 * 3600
"""How long after signing in a session may still be renewed."""


class Claims(msgspec.Struct, frozen=True):
    """What a token says, of which only `sub`, `login` and `mark` are believed."""

    sub: str
    exp: int
    login: int
    mark: str


class Sessions:
    def __init__(self, engine: Engine, life_s: float) -> None:
        self._engine = engine
        self.life_s = life_s
        self._key = b""
        self._known: dict[str, tuple[int, User | None]] = {}

    async def key(self) -> bytes:
        """The signing key: of the store's secret, but for this purpose alone."""
        if not self._key:
            secret = bytes.fromhex(await self._engine.store.secret())
            self._key = hmac.new(secret, b"windlass user sessions", sha256).digest()
        return self._key

    async def open(self, user: User, login: int | None = None) -> str:
        """A token for a user who has just signed in, or (`login`) did so before."""
        now = self._engine.store.now() // 1000
        claims = {
            "iss": _ISSUER,
            "sub": user.id,
            "username": user.username,
            "displayName": user.display_name,
            "roles": users.roles_of(user),
            "iat": now,
            "exp": now + int(self.life_s),
            "jti": secrets.token_hex(8),
            "login": login or now,
            "mark": mark_of(user),
        }
        return jwt.encode(claims, await self.key(), algorithm=_ALGORITHM)

    async def read(self, token: str, age_ms: int = _CACHE_MS) -> tuple[User, Claims]:
        """Whose token this is, or `Unauthorized`."""
        try:
            found = jwt.decode(
                token,
                await self.key(),
                algorithms=[_ALGORITHM],
                issuer=_ISSUER,
                # Time is the database's, which may not be this machine's.
                options={"verify_exp": False, "verify_iat": False, "require": ["exp", "sub"]},
            )
            claims = msgspec.convert(found, Claims)
        except (jwt.InvalidTokenError, msgspec.ValidationError) as error:
            raise Unauthorized("the session is not valid; sign in again") from error
        if claims.exp * 1000 <= self._engine.store.now():
            raise Unauthorized("the session has expired; sign in again")
        user = await self._user(claims.sub, age_ms)
        if user is None or not user.active or not hmac.compare_digest(claims.mark, mark_of(user)):
            raise Unauthorized("the session has ended; sign in again")
        return user, claims

    async def renew(self, token: str) -> tuple[User, str]:
        """A fresh token for one that is still good."""
        user, claims = await self.read(token)
        if claims.login + RENEW_S <= self._engine.store.now() // 1000:
            raise Unauthorized(f"the session is older than {RENEW_S // 3600} h; sign in again")
        return user, await self.open(user, claims.login)

    async def _user(self, user_id: str, age_ms: int) -> User | None:
        now = self._engine.store.now()
        known = self._known.get(user_id)
        if known is not None and known[0] + age_ms > now:
            return known[1]
        if len(self._known) > _CACHE_MAX:
            self._known.clear()
        user = await users.by_id(self._engine, user_id)
        self._known[user_id] = (now, user)
        return user

    def forget(self, user_id: str) -> None:
        """Read the row again next time."""
        self._known.pop(user_id, None)


def mark_of(user: User) -> str:
    """Changes with the password, and says nothing about it."""
    return sha256(user.password_hash.encode()).hexdigest()[:16]


def is_session(token: str) -> bool:
    return token.count(".") == 2 and not token.startswith("wl_")
