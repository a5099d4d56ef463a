"""Idempotency keys: the same request under the same key gets the answer it already has.

Runs write their key in the commit that starts them. Other requests act first and remember then:
what they do is the same when done twice, while a key remembered before an act that failed would
hide it.
"""

from collections.abc import Awaitable, Callable
from hashlib import sha256

from windlass.engine.engine import Engine
from windlass.model.errors import BadRequest, Conflict, Unavailable
from windlass.model.rows import Idempotency, Row
from windlass.model.tenants import own_name

KEY_MAX = 500


class Keyed:
    """One request under one key; without a key it is always the first."""

    def __init__(self, engine: Engine, scope: str, key: str, request: bytes) -> None:
        if len(key) > KEY_MAX or "\0" in key:
            raise BadRequest(f"an idempotency key has at most {KEY_MAX} characters, none NUL")
        self._engine = engine
        self._key = own_name(engine.home, f"{scope} {key}") if key else ""
        self._hash = sha256(request).hexdigest()

    async def earlier(self) -> Idempotency | None:
        """What the key already stands for; `Conflict` if that is another request."""
        return await earlier(self._engine, self._key, self._hash) if self._key else None

    def rows(self, answer_id: str) -> list[Idempotency]:
        """What lets the key stand for an answer, for the commit that brings the answer about."""
        if not self._key:
            return []
        now = self._engine.store.now()
        return [
            Idempotency(key=self._key, run_id=answer_id, request_hash=self._hash, created_at=now)
        ]

    async def once(self, answer_id: str, act: Callable[..., Awaitable[object]]) -> str:
        """Do something whose commit takes the key along, unless it was done before, or is by
        somebody else at this very moment; tells the answer that counts. `act` is given the rows to
        commit."""
        found = await self.earlier()
        if found is None:
            try:
                await act(*self.rows(answer_id))
            except (Unavailable, Conflict):
                found = await self.earlier()
                if found is None:
                    raise
        return answer_id if found is None else found.run_id

    async def remember(self, answer_id: str, *along: Row) -> str:
        """Let the key stand for an answer, with the rows that bring it about; tells the one that
        counts, if another was quicker."""
        rows = [*along, *self.rows(answer_id)]
        if not rows:
            return answer_id
        try:
            await self._engine.write(*rows)
        except (Unavailable, Conflict):
            found = await self.earlier()
            if found is None:
                raise
            return found.run_id
        return answer_id


async def earlier(engine: Engine, key: str, request_hash: str) -> Idempotency | None:
    async with engine.store.session() as session:
        found = await session.rows(Idempotency, [key])
    if not found:
        return None
    if found[0].request_hash != request_hash:
        text = f'key "{key}" already stands for {found[0].run_id}, made by another request'
        raise Conflict(f"{text}; use a new key")
    return found[0]
