"""Attempts: demand, outcomes and leases, the same for every transport."""

import asyncio
import hmac
from collections.abc import Mapping, Sequence
from contextlib import suppress
from copy import copy
from hashlib import blake2b
from typing import Any

import msgspec

from windlass.engine.compiling import INLINE_BYTES
from windlass.engine.demand import Demand
from windlass.engine.engine import Engine
from windlass.kernel.events import AttemptFailed, AttemptStarted, AttemptSucceeded
from windlass.model.assignment import Assignment
from windlass.model.budgets import read_usage
from windlass.model.errors import BadRequest, StaleLease
from windlass.model.log_marks import LogMark, kept_marks, result_marks
from windlass.model.rows import Failure, Json, Row
from windlass.model.tenants import ALL
from windlass.model.values import readable, storable

_LOG_CHARS_MAX = 1_000_000
_MESSAGE_CHARS_MAX = 100_000
_PASS_S_MAX = 5.0
"""A pass that takes longer meets a database that is away; what it gives then is given back."""


class Attempts:
    """The engine's side of the `Work` port."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._secret = b""

    def of(self, tenant: str) -> "Attempts":
        """The same, for whoever works for one tenant: of others' attempts it knows nothing."""
        if tenant == ALL:
            return self
        found = copy(self)
        found._engine = self._engine.of(tenant)  # noqa: SLF001  a copy of our own
        return found

    @property
    def lease_s(self) -> float:
        return self._engine.settings.lease_s

    def want(
        self,
        worker_id: str,
        queues: Sequence[str],
        slots: int,
        *,
        holder: str = "",
        url: str = "",
        load: int = 0,
        caps: Mapping[str, int] | None = None,
        tenant: str = ALL,
    ) -> "WaitingDemand":
        lease_ms = int(self.lease_s * 1000)
        served = self._engine.tenants.queues(tenant, queues)
        demand = Demand(
            worker_id,
            served,
            slots,
            lease_ms,
            holder=holder,
            url=url,
            load=load,
            caps=caps,
            shared=queues if tenant == ALL else (),
        )
        return WaitingDemand(self._engine, demand)

    async def claim(
        self, worker_id: str, queues: Sequence[str], slots: int, wait_s: float
    ) -> list[Assignment]:
        """Wait for work for a while; an empty list when none came."""
        waiting = self.want(worker_id, queues, slots)
        try:
            async with asyncio.timeout(wait_s):
                return await waiting.assignments()
        except TimeoutError:
            return await waiting.leave()
        except asyncio.CancelledError:
            # The caller is gone. What was given to it goes back to the queue at once.
            for given in waiting.withdraw():
                self.give_back(given.attempt_id)
            raise

    def give_back(self, attempt_id: str) -> None:
        """Return work nobody began; if this is lost too, the lease runs out by itself."""
        self._engine.advance.give_back(attempt_id)

    async def started(self, attempt_id: str) -> None:
        await self._engine.submit(AttemptStarted(attempt_id))

    async def succeeded(
        self,
        attempt_id: str,
        output: Json | msgspec.Raw,
        log: str | None = None,
        *,
        skipped: bool = False,
        metadata: dict[str, Any] | None = None,
        usage: Mapping[str, Any] | None = None,
        marks: Sequence[LogMark] = (),
        along: Sequence[Row] = (),
    ) -> str:
        """Hand in a result, with rows that belong to it. One that cannot be read or kept fails the
        attempt for good, and is then refused: the next time it would be no different."""
        try:
            if length_of(output) <= INLINE_BYTES:
                text = readable(output, "the result")
            else:
                text = await asyncio.to_thread(readable, output, "the result")
            used = read_usage(usage) if usage else None
            event = AttemptSucceeded(attempt_id, text, bounded(log), skipped, metadata, used)
            if marks:
                along = (*along, *self._marked(attempt_id, event.log, marks))
            answer: str = await self._engine.submit(event, *along)
        except BadRequest as error:
            failure = Failure("fatal", str(error))
            await self.failed(attempt_id, failure, log, usage=usage, marks=marks)
            raise
        return answer

    async def failed(
        self,
        attempt_id: str,
        failure: Failure,
        log: str | None = None,
        *,
        usage: Mapping[str, Any] | None = None,
        marks: Sequence[LogMark] = (),
        along: Sequence[Row] = (),
    ) -> str:
        message = storable(failure.message[:_MESSAGE_CHARS_MAX])
        if message != failure.message:
            failure = msgspec.structs.replace(failure, message=message)
        event = AttemptFailed(
            attempt_id, failure, bounded(log), read_usage(usage) if usage else None
        )
        rows = (*along, *self._marked(attempt_id, event.log, marks))
        answer: str = await self._engine.submit(event, *rows)
        return answer

    def _marked(self, attempt_id: str, log: str | None, marks: Sequence[LogMark]) -> Sequence[Row]:
        """What is known of the log that comes with a result, beside it; nothing for most."""
        if not marks or not log:
            return ()
        return (result_marks(attempt_id, kept_marks(marks, len(log)), self._engine.store.now()),)

    async def renew(self, attempts: Sequence[str], worker_id: str = "") -> dict[str, bool]:
        until = self._engine.store.now() + int(self.lease_s * 1000)
        return await self._engine.store.renew(attempts, until, worker_id)

    # Tokens: an attempt's proof that it was really leased to whoever shows it.

    async def token(self, attempt_id: str) -> str:
        if not self._secret:
            self._secret = bytes.fromhex(await self._engine.store.secret())
        return attempt_token(self._secret, attempt_id)

    async def check_token(self, attempt_id: str, token: str) -> None:
        expected = await self.token(attempt_id)
        if not hmac.compare_digest(expected.encode(), token.encode()):
            raise StaleLease(f"the token does not belong to attempt {attempt_id}")


def attempt_token(secret: bytes, attempt_id: str) -> str:
    return blake2b(attempt_id.encode(), key=secret, digest_size=16).hexdigest()


def length_of(output: Json | msgspec.Raw) -> int:
    return len(output if isinstance(output, str) else bytes(output))


def bounded(log: str | None) -> str | None:
    """A log that can be kept, and is not without end."""
    return None if log is None else storable(log[:_LOG_CHARS_MAX])


class WaitingDemand:
    """Demand in the engine's hands."""

    def __init__(self, engine: Engine, demand: Demand) -> None:
        self._engine = engine
        self._demand = demand
        engine.advance.wait_for_work(demand)

    @property
    def given(self) -> bool:
        answer = self._demand.answer
        return answer.done() and not answer.cancelled()

    def resize(self, slots: int, caps: Mapping[str, int] | None = None) -> None:
        self._demand.slots = slots
        self._demand.caps = caps or {}
        self._engine.advance.look_again(())

    def add(self, slots: int, caps: Mapping[str, int]) -> bool:
        demand = self._demand
        if demand.answer.done():
            return False
        more = {service: demand.caps.get(service, 0) + caps.get(service, 0) for service in caps}
        self.resize(demand.slots + slots, {**demand.caps, **more})
        return True

    def weigh(self, load: int) -> None:
        self._demand.load = load

    async def assignments(self) -> list[Assignment]:
        return await asyncio.shield(self._demand.answer)

    async def leave(self) -> list[Assignment]:
        advance, demand = self._engine.advance, self._demand
        advance.demands.drop(demand)
        if demand.matched and not demand.answer.done():
            # Only the pass under way can have picked something for it, and tells when it is over.
            with suppress(TimeoutError):
                async with asyncio.timeout(_PASS_S_MAX):
                    await advance.pass_over.wait()
        return self.withdraw()

    def withdraw(self) -> list[Assignment]:
        self._engine.advance.demands.drop(self._demand)
        if self.given:
            return self._demand.answer.result()
        self._demand.answer.cancel()
        return []
