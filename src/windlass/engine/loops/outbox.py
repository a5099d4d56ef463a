"""Does what commits have promised: effects, each under a lease, by whichever process can.

A handler does one effect and returns, or raises. What it raises decides what becomes of the effect:
`NotHere` gives it back untried, anything else has it tried again later, a little later each time,
until it has been tried as often as it may be and is left as a dead letter. One effect that fails
holds up no other.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import cast

from msgspec.structs import replace

from windlass.engine.engine import Engine
from windlass.model.dead_letters import DeadLetter, letter_of_effect
from windlass.model.effects import Effect
from windlass.model.errors import Unavailable
from windlass.model.rows import Run, Worker
from windlass.model.tenants import ALL, DEFAULT
from windlass.ports.store import EffectClaim, Writes

log = logging.getLogger(__name__)

Handler = Callable[[Effect], Awaitable[None]]

_AT_ONCE = 20
_TOGETHER_S = 0.2
"""How long effects that were claimed together are waited for; what takes longer goes on beside."""
_ERROR_CHARS_MAX = 1_000
_AWAY_S = 1.0
"""How long an effect is left alone that turned out to be another process's to do."""


class NotHere(Exception):
    """This process cannot do the effect after all; another can, or it can later."""


class Outbox:
    """Claims effects that are due, for anybody and for the addresses that are here."""

    def __init__(
        self,
        engine: Engine,
        handlers: Mapping[str, Handler],
        addresses: Callable[[], Iterable[str]] = tuple,
        *,
        lease_s: float = 30.0,
        patience_s: float | None = None,
        at_once: int = _AT_ONCE,
        anybodys: bool = True,
        tries_max: int = 12,
        pause_s_max: float = 300.0,
    ) -> None:
        """An effect may take `patience_s`: its lease is renewed meanwhile, where that is longer.
        One that is `anybodys` has no address."""
        self._engine = engine
        self._handlers = handlers
        self._addresses = addresses
        self._lease_s = lease_s
        self._patience_s = lease_s * 0.8 if patience_s is None else patience_s
        self._anybodys = anybodys
        self._tries_max = tries_max
        self._pause_s_max = pause_s_max
        self._wake = asyncio.Event()
        self._slots = asyncio.Semaphore(at_once)
        self._late: set[asyncio.Task[None]] = set()
        self._next_due_at: int | None = None
        engine.advance.listeners.append(self._committed)
        engine.feed.on_mail.append(self._wake.set)

    def _committed(self, writes: Writes) -> None:
        again = cast("dict[str, Effect]", writes.changed.get(Effect, {})).values()
        if writes.made.get(Effect) or any(not effect.tries for effect in again):
            self._wake.set()

    def look(self) -> None:
        """An address has come here."""
        self._wake.set()

    async def run_once(self) -> int:
        self._wake.clear()
        store = self._engine.store
        now = store.now()
        addresses = [*([""] if self._anybodys else ()), *self._addresses()]
        if not addresses:
            return 0
        until = now + int(self._lease_s * 1000)
        claimed = await store.claim_effects(EffectClaim(addresses, self._engine.name, now, until))
        if claimed:
            await self._do_all(claimed)
        else:
            found = await store.query("next_effect", addresses=addresses)
            self._next_due_at = found[0]["due_at"]
        return len(claimed)

    async def _do_all(self, effects: Iterable[Effect]) -> None:
        """Do effects, and remove together those that are done soon."""
        doing = {asyncio.ensure_future(self._do(effect)): effect for effect in effects}
        try:
            done, late = await asyncio.wait(doing, timeout=_TOGETHER_S)
        except asyncio.CancelledError:
            for task in (*doing, *self._late):
                task.cancel()
            raise
        for task in late:
            self._follow(task, doing[task])
        ends = [doing[task].id for task in doing if task in done and task.result()]
        await self._engine.store.end_effects(ends, self._engine.name)

    def _follow(self, doing: "asyncio.Task[bool]", effect: Effect) -> None:
        """One that takes long is removed when it is done, and holds up no other."""

        async def end() -> None:
            if await doing:
                await self._engine.store.end_effects([effect.id], self._engine.name)

        following = asyncio.ensure_future(end())
        self._late.add(following)
        following.add_done_callback(self._late.discard)

    async def _do(self, effect: Effect) -> bool:
        """Whether an effect was done."""
        try:
            async with self._slots, asyncio.timeout(self._patience_s):
                handler = self._handlers.get(effect.kind)
                if handler is None:
                    # A newer process may know what it is.
                    raise NotHere(f'this program does no "{effect.kind}"')
                if self._patience_s > self._lease_s:
                    await self._do_slowly(handler, effect)
                else:
                    await handler(effect)
        except NotHere as error:
            await self._put_back(effect, _AWAY_S, str(error), tried=False)
        except Exception as error:
            log.warning("effect %s (%s) failed", effect.id, effect.kind, exc_info=True)
            pause_s = min(self._pause_s_max, 2.0 ** min(effect.tries, 20) / 2)
            if isinstance(error, Unavailable):
                pause_s = max(pause_s, error.retry_after_s)
            await self._put_back(effect, pause_s, f"{type(error).__name__}: {error}", tried=True)
        else:
            return True
        return False

    async def _do_slowly(self, handler: Handler, effect: Effect) -> None:
        """Renew the lease of an effect until it is done. One that is not wanted any more, or that
        another has by now, is left."""
        wanted = asyncio.timeout(None)
        renewing: asyncio.Task[None] | None = None
        try:
            async with wanted:
                renewing = asyncio.ensure_future(self._renew(effect, wanted))
                await handler(effect)
        except TimeoutError as error:
            if wanted.expired():
                raise NotHere("it is not wanted any more") from error
            raise
        finally:
            if renewing is not None:
                renewing.cancel()

    async def _renew(self, effect: Effect, wanted: asyncio.Timeout) -> None:
        while True:
            await asyncio.sleep(self._lease_s / 3)
            try:
                renewed = await self._engine.update(Effect, effect.id, self._renewed)
            except Unavailable:
                continue  # until then another may take it, which does no harm
            if renewed is None:
                wanted.reschedule(0.0)
                return

    def _renewed(self, effect: Effect) -> Effect | None:
        if effect.holder != self._engine.name:
            return None
        until = self._engine.store.now() + int(self._lease_s * 1000)
        return replace(effect, lease_until=until)

    async def _put_back(self, effect: Effect, pause_s: float, error: str, *, tried: bool) -> None:
        due_at = self._engine.store.now() + int(pause_s * 1000)
        dead = tried and effect.tries >= self._tries_max
        if dead:
            log.error("effect %s (%s) is given up: %s", effect.id, effect.kind, error)

        def back(now: Effect) -> Effect | None:
            if now.holder != self._engine.name:
                return None  # its lease ran out, and another has it
            return replace(
                now,
                state="dead" if dead else "waiting",
                due_at=due_at,
                tries=now.tries if tried else now.tries - 1,
                holder="",
                lease_until=0,
                error=error[:_ERROR_CHARS_MAX],
            )

        letters = [await self._letter(effect, error)] if dead else []
        await self._engine.update(Effect, effect.id, back, *letters)

    async def _letter(self, effect: Effect, error: str) -> DeadLetter:
        """A letter to whoever the run belongs to, or the worker that was to be told."""
        kind, _, worker_id = effect.address.partition(":")
        async with self._engine.store.session() as session:
            runs = await session.rows(Run, [effect.run_id] if effect.run_id else [])
            workers = await session.rows(Worker, [worker_id] if kind == "worker" else [])
        owners = [*(run.tenant for run in runs), *(worker.tenant for worker in workers)]
        owners = [tenant for tenant in owners if tenant != ALL]
        told = replace(effect, error=error)
        flow_name = runs[0].flow_name if runs else ""
        now = self._engine.store.now()
        return letter_of_effect(told, owners[0] if owners else DEFAULT, flow_name, now)

    async def pause(self) -> None:
        wait_s = self._engine.settings.look_s
        if self._next_due_at is not None:
            now = self._engine.store.now()
            wait_s = min(wait_s, max(0.01, (self._next_due_at - now) / 1000))
        try:
            async with asyncio.timeout(wait_s):
                await self._wake.wait()
        except TimeoutError:
            return
        except asyncio.CancelledError:
            for task in self._late:
                task.cancel()
            raise
