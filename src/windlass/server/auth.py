"""Who may do what: bearer tokens with roles, kept as hashes, and the sessions of users.

A viewer reads, an operator also steers runs and publishes flows, a worker registers and reports,
an admin does everything. Without tokens (development, on loopback) everybody is an admin, but only
for requests a browser would not send on behalf of a foreign page.
"""

import hmac
import re
import secrets
from collections.abc import Callable
from copy import copy
from hashlib import sha256

from msgspec.structs import replace
from starlette.requests import HTTPConnection, Request

from windlass.engine import users
from windlass.engine.engine import Engine
from windlass.engine.workers import check_id
from windlass.model.access import Token
from windlass.model.errors import BadRequest, Conflict, Denied, NotFound, Unauthorized
from windlass.model.rows import Row
from windlass.model.tenants import ALL, DEFAULT, check_tenant
from windlass.ports.store import Cond
from windlass.server.context import context_of
from windlass.server.sessions import Sessions, is_session

ROLES = ("viewer", "operator", "worker", "admin")
TENANT_HEADER = "windlass-tenant"
_READS = frozenset({"viewer", "workflow.viewer", "run.viewer"})
_GRANTS = {
    "viewer": _READS,
    "operator": _READS | {"operator"},
    "worker": _READS | {"worker"},
    "admin": _READS | frozenset(ROLES),
    # Only users have these: they read one half, and what belongs to neither.
    "workflow.viewer": frozenset({"viewer", "workflow.viewer"}),
    "run.viewer": frozenset({"viewer", "run.viewer"}),
}
_STRONGEST = ("admin", "operator", "worker", "viewer", "workflow.viewer", "run.viewer")
_CACHE_MS = 5_000
STALE_MS = 2_000
"""How old an answer may be for whoever waits for long and asks again meanwhile."""
_FINGERPRINT = re.compile("[0-9a-fA-F]{64}")
_LOOPBACK = ("localhost", "127.0.0.1", "[::1]")


class Who:
    """The caller: a name for the record, and what it may do."""

    def __init__(
        self,
        name: str,
        *roles: str,
        user_id: str = "",
        workers: str = "",
        home: str = ALL,
    ) -> None:
        self.name = name
        self.home = home
        """The tenant it belongs to; `*` for an operator of the whole system."""
        self.named = ""
        """The tenant it asked to act in."""
        self.role = next((role for role in _STRONGEST if role in roles), "nobody")
        self.user_id = user_id
        """Empty for a token, which is nobody's."""
        self.workers = workers
        """The worker it may act for, or `prefix*`; empty: any."""
        self._may = frozenset(grant for role in roles for grant in _GRANTS[role])

    @property
    def tenant(self) -> str:
        """The tenant it acts in."""
        return self.named or (DEFAULT if self.home == ALL else self.home)

    @property
    def works_for(self) -> str:
        """Whose tasks a worker of it gets: those of all, unless it belongs to or named one."""
        return self.named or self.home

    def acting_in(self, tenant: str) -> "Who":
        found = copy(self)
        found.named = tenant
        return found

    def may(self, role: str) -> bool:
        return role in self._may

    def acts_for(self, worker_id: str) -> bool:
        """Whether the caller may speak for a worker."""
        bound = self.workers
        if bound.endswith("*"):
            return worker_id.startswith(bound.removesuffix("*"))
        return bound in ("", worker_id)

    def check_worker(self, worker_id: str) -> str:
        """The worker the caller acts for, or `Denied`."""
        if not self.acts_for(worker_id):
            bound = self.workers
            raise Denied(f'token "{self.name}" is for worker "{bound}", not for "{worker_id}"')
        return worker_id

    def check_unbound(self, but: str) -> None:
        """`Denied` for a token that is bound to a worker, saying what it may not do."""
        if self.workers:
            bound = f'token "{self.name}" is for worker "{self.workers}"'
            raise Denied(f"{bound} and {but}; use one that is bound to none")


class Auth:
    """Checks tokens; remembers each for a few seconds."""

    def __init__(
        self, engine: Engine, *, required: bool, admin_token: str = "", session_s: float = 900.0
    ) -> None:
        self._engine = engine
        self.sessions = Sessions(engine, session_s)
        self.required = required
        self._admin_hash = hash_of(admin_token) if admin_token else ""
        self._known: dict[str, tuple[int, Who]] = {}

    async def check(self, request: Request, role: str, age_ms: int = _CACHE_MS) -> Who:
        """The caller, or an error that says what is missing. What was read of it longer ago than
        `age_ms` is read again."""
        if not self.required:
            check_local(request)
            return await self._acting(Who("local", "admin"), request)
        who = await self._proven(request, role, age_ms)
        if not who.may(role):
            raise Denied(f"this needs the {role} role; the token is a {who.role}'s")
        return await self._acting(who, request)

    async def _proven(self, request: Request, role: str, age_ms: int) -> Who:
        """By a token; or what is a worker's also by the certificate it shows on the link."""
        shown: str = getattr(request.state, "peer_fingerprint", "")
        if shown and role == "worker" and "authorization" not in request.headers:
            return await self.who_shows(shown, age_ms)
        return await self.who(bearer(request), age_ms)

    async def _acting(self, who: Who, request: Request) -> Who:
        """The caller in the tenant that the request names."""
        named = request.headers.get(TENANT_HEADER, "")
        if not named:
            return who
        check_tenant(named)
        if who.home not in (ALL, named):
            raise Denied(f'"{who.name}" acts in the tenant "{who.home}" only')
        engine = self._engine
        if named not in engine.tenants.names:
            await engine.refresh_tenants()
            if named not in engine.tenants.names:
                raise NotFound(f'no tenant "{named}"; make it with `windlass tenant create`')
        return who.acting_in(named)

    async def who(self, token: str, age_ms: int = _CACHE_MS) -> Who:
        """Whose token this is, or `Unauthorized`."""
        hashed = hash_of(token)
        if self._admin_hash and hmac.compare_digest(hashed, self._admin_hash):
            return Who("bootstrap", "admin")
        if is_session(token):
            user, _ = await self.sessions.read(token, age_ms)
            roles = [users.ROLES[role] for role in users.roles_of(user) if role in users.ROLES]
            return Who(user.username, *roles, user_id=user.id, home=user.tenant)
        return await self._known_as(hashed, age_ms)

    async def who_shows(self, fingerprint: str, age_ms: int = _CACHE_MS) -> Who:
        """Whose certificate came with a connection, or `Unauthorized`."""
        return await self._known_as(certificate_key(fingerprint), age_ms)

    async def _known_as(self, hashed: str, age_ms: int) -> Who:
        now = self._engine.store.now()
        known = self._known.get(hashed)
        if known is not None and known[0] + age_ms > now:
            return known[1]
        rows = await self._engine.store.page(Token, [Cond("hash", "=", hashed)], limit=1)
        if not rows or rows[0].revoked_at is not None:
            raise Unauthorized("the token is unknown or revoked; make one: windlass token create")
        found = rows[0]
        if found.expires_at is not None and found.expires_at <= now:
            raise Unauthorized(f'token "{found.name}" has expired; make a new one')
        if len(self._known) > 10_000:
            self._known.clear()
        who = Who(found.name, found.role, workers=found.workers, home=found.tenant)
        self._known[hashed] = (now, who)
        return who

    async def create(
        self,
        name: str,
        role: str,
        expires_in_s: int | None,
        fingerprint: str = "",
        workers: str = "",
        tenant: str = DEFAULT,
        noted: Callable[[Token], Row] | None = None,
    ) -> tuple[Token, str]:
        """Make a token; its text is shown this once. One for a certificate has no text. What is
        `noted` of it is in the same commit."""
        if role not in ROLES:
            raise BadRequest(f'no role "{role}"; there are {", ".join(ROLES)}')
        if not name:
            raise BadRequest("a token needs a name")
        if fingerprint and not _FINGERPRINT.fullmatch(fingerprint):
            raise BadRequest("a fingerprint is the SHA-256 of a certificate: 64 hex digits")
        if workers and role != "worker":
            raise BadRequest(f"only a token with the role worker is bound to one, not a {role}'s")
        if workers:
            check_id(workers.removesuffix("*"))
        if fingerprint:
            await self._check_new(fingerprint)
        text = "" if fingerprint else f"wl_{secrets.token_urlsafe(32)}"
        now = self._engine.store.now()
        token = Token(
            id=self._engine.new_id(),
            name=name,
            hash=certificate_key(fingerprint) if fingerprint else hash_of(text),
            role=role,
            workers=workers,
            created_at=now,
            expires_at=now + expires_in_s * 1000 if expires_in_s else None,
            tenant=tenant,
        )
        await self._engine.write(token, *([noted(token)] if noted is not None else ()))
        return token, text

    async def _check_new(self, fingerprint: str) -> None:
        """A certificate proves one thing for good: also what was revoked is not given again."""
        where = [Cond("hash", "=", certificate_key(fingerprint))]
        for known in await self._engine.store.page(Token, where, limit=1):
            text = f'token "{known.name}" ({known.id}) is for this certificate already'
            raise Conflict(f"{text}; use another certificate")

    async def revoke(self, engine: Engine, token_id: str, *along: Row) -> None:
        """Once is enough: whoever comes second changes nothing."""
        async with engine.store.session() as session:
            rows = await session.rows(Token, [token_id])
        if not rows:
            raise NotFound(f'no token "{token_id}"')
        now = self._engine.store.now()

        def revoked(token: Token) -> Token | None:
            return None if token.revoked_at is not None else replace(token, revoked_at=now)

        await engine.update(Token, token_id, revoked, *along)
        self._known.pop(rows[0].hash, None)


async def check_again(request: Request) -> None:
    """Whether the caller may still do what its request asked for, or an error that says why not.
    An address that was signed is as good as its signature."""
    role: str | None = getattr(request.state, "role", None)
    if role is not None:
        await context_of(request).auth.check(request, role, STALE_MS)


def bearer(request: HTTPConnection) -> str:
    """The token a request shows."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not token.strip():
        raise Unauthorized("send a token: Authorization: Bearer <token>")
    return token.strip()


def certificate_key(fingerprint: str) -> str:
    """What a certificate is kept under; no hash of a token's text looks like it."""
    return f"certificate:{fingerprint.lower()}"


def hash_of(token: str) -> str:
    # Tokens are long and random, so a plain hash is as good as a slow one.
    return sha256(token.encode()).hexdigest()


def check_local(request: HTTPConnection) -> None:
    """Without tokens, take only requests meant for this machine and not sent by a foreign page."""
    host = request.headers.get("host", "")
    name = host.rpartition(":")[0] if ":" in host.rpartition("]")[2] else host
    if name not in _LOOPBACK:
        raise Denied(f'host "{host}" is not this machine; a server without tokens serves only it')
    origin = request.headers.get("origin")
    if origin is not None and origin.rpartition("//")[2] != host:
        raise Denied(f"a page from {origin} may not use a server without tokens")
