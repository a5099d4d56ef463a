"""The pull worker: exchanges finished results for new attempts until it is told to stop.

Two requests may be under way. The *main* one states demand: it waits at the server while there is
nothing to do, and takes all results along when there are any, so a chain of short steps costs one
round trip a step and a flood goes in batches. The *side* one exists for results that are ready
while the main one waits; it also asks for places of bounded services that became free meanwhile,
which the server adds to what the main one asks for. Results leave the unsent only against a
receipt, so they survive a server that restarts; attempts stay leased meanwhile through the renewer.
"""

import asyncio
import logging
import random
import time
from collections.abc import Callable

import anyio

from windlass.client.backoff import Backoff
from windlass.client.problems import ServerError
from windlass.model.errors import BadRequest, DefinitionError, Unavailable, WindlassError
from windlass.protocol.exchange import Exchange, Registered, Reply, Result
from windlass.worker.asking import Ask, Asking
from windlass.worker.calls import ServerCalls
from windlass.worker.context import Stop
from windlass.worker.lease_renewer import LeaseRenewer
from windlass.worker.pull_state import PullState

log = logging.getLogger(__name__)

GRACE_S = 0.002
"""How long the main request waits for attempts just started: most short ones end within it, and
then one request carries their results and asks for more."""
LISTEN_AFTER_S = 0.3
"""How long all slots are busy before the worker listens for what is to stop."""
POLL_S_MAX = 20.0
POLL_SHARE = 1 / 3
"""The main request waits at most this share of a lease, since trust counts from the request."""
APART_S = 1.0
"""How long it waits instead while a bounded service is full, if the two requests reach different
servers: then nobody can tell the waiting one of places that become free."""
FLUSH_S = 5.0
CALL_OFF_S = 1.0
"""How long a worker that stops lets the request that waits be answered, before it drops it."""


class PullLoop:
    """Feeds a runtime from a server. Belongs to one event loop."""

    def __init__(
        self,
        main: ServerCalls,
        side: ServerCalls,
        state: PullState,
        renewer: LeaseRenewer,
        clock: Callable[[], float] = time.monotonic,
        random_: random.Random | None = None,
    ) -> None:
        self._random = random_ or random.Random()
        self._main = main
        self._side = side
        self._state = state
        self._asking = Asking(state.runtime)
        self._waiting_ask = 0
        self._apart = False
        self._renewer = renewer
        self._clock = clock
        self._parked = asyncio.Event()
        """Set while the main request waits, so results must go by the side."""
        self._stopping = asyncio.Event()
        self._waiting: anyio.CancelScope | None = None
        self._answered = asyncio.Event()
        """Set while no request waits."""
        self._answered.set()
        self._poll_s = POLL_S_MAX
        self._down = False

    def stop(self) -> None:
        """Take no more work. A request that waits is called off; what comes with its answer, or
        with that of another, is given back."""
        self._stopping.set()
        self._state.taking = False
        self._state.changed.set()
        self._state.unsent.added.set()

    async def run(self, drain_s: float) -> None:
        """Work until `stop`, then let running handlers end, report, and sign off."""
        try:
            if await self._sign_on():
                await self._work(drain_s)
        finally:
            with anyio.move_on_after(FLUSH_S, shield=True):
                await asyncio.to_thread(self._renewer.stop)
            self._main.close()
            self._side.close()

    async def _work(self, drain_s: float) -> None:
        self._renewer.start()
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(self._poll)
                group.start_soon(self._report)
                await self._stopping.wait()
                await self._call_off()
                await self._drain(drain_s)
                group.cancel_scope.cancel()
        finally:
            with anyio.move_on_after(FLUSH_S, shield=True):
                await self._sign_off()

    async def _call_off(self) -> None:
        """Wait for the answer of the request that waits, which the side one ends. Simply dropped,
        it could be given something in that moment, and nobody would have it until the lease ran
        out. So it is only if the two reach different servers, or none."""
        with anyio.move_on_after(CALL_OFF_S):
            await self._answered.wait()
        if self._waiting is not None:
            self._waiting.cancel()

    async def _poll(self) -> None:
        backoff = Backoff(random_=self._random)
        started = 0
        while not self._stopping.is_set():
            await self._ready(started)
            batch = self._state.take()
            started = 0
            if not batch and (self._stopping.is_set() or not self._state.runtime.free):
                continue
            reply = await self._demand(batch)
            if reply is None:
                await self._pause(backoff)
            else:
                backoff.reset()
                started = len(reply.attempts)
        self._parked.set()  # from here on all results go by the side

    async def _ready(self, started: int) -> None:
        """Wait for a slot or a result; attempts just started get a moment to end."""
        state = self._state
        state.changed.clear()
        if state.unsent.waiting or self._stopping.is_set():
            return
        if not state.runtime.free:
            with anyio.move_on_after(LISTEN_AFTER_S):
                await state.changed.wait()
                return
            await self._listen()
        elif started:
            with anyio.move_on_after(GRACE_S):
                await state.changed.wait()

    async def _listen(self) -> None:
        """Every slot is busy and stays so: ask for nothing, to hear at once what is to stop."""
        async with anyio.create_task_group() as group:
            group.start_soon(self._hear)
            await self._state.changed.wait()
            group.cancel_scope.cancel()

    async def _hear(self) -> None:
        wait_ms = round(self._poll_s * 1000)
        while True:
            asked_at = self._clock()
            reply = await self._exchange(self._main, [], self._asking.none(), wait_ms)
            told = reply is not None and (reply.cancel or reply.lost)
            if not told and self._clock() - asked_at < self._poll_s / 2:
                await asyncio.sleep(APART_S)  # an older server does not wait, or there is none

    async def _demand(self, batch: list[Result]) -> Reply | None:
        """One main request: with results it is answered at once, without it waits."""
        ask = self._asking.none() if self._stopping.is_set() else self._asking.ask()
        if batch:
            return await self._exchange(self._main, batch, ask, 0)
        wait_s = self._poll_s
        if self._apart and not all(ask.caps.values()):
            wait_s = min(wait_s, APART_S)
        reply = None
        with anyio.CancelScope() as self._waiting:
            self._waiting_ask = ask.number
            self._answered.clear()
            self._parked.set()
            reply = await self._exchange(self._main, [], ask, round(wait_s * 1000))
        self._waiting = None
        self._waiting_ask = 0
        self._answered.set()
        self._parked.clear()
        return reply

    async def _report(self) -> None:
        backoff = Backoff(random_=self._random)
        while True:
            await self._state.unsent.added.wait()
            await self._parked.wait()
            batch = self._state.take()
            ask = self._free_since()
            ends = self._waiting_ask if self._stopping.is_set() else 0
            if not batch and not ask.slots and not ends:
                continue
            joins = 0 if ends else self._waiting_ask
            if await self._exchange(self._side, batch, ask, 0, joins, ends) is None:
                await self._pause(backoff)
            else:
                backoff.reset()

    def _free_since(self) -> Ask:
        """What the request that waits does not ask for, as it was not free when it was sent.

        Only for bounded services: of the others it asks for some, and comes back at once for more.
        """
        if self._waiting_ask and not self._stopping.is_set():
            ask = self._asking.ask()
            if ask.more_of_a_bounded_service:
                return ask
            self._asking.settle(ask)
        return self._asking.none()

    async def _exchange(
        self,
        server: ServerCalls,
        batch: list[Result],
        ask: Ask,
        wait_ms: int,
        joins: int = 0,
        ends: int = 0,
    ) -> Reply | None:
        """One request; None if it failed, or settled nothing, and the next should wait a little."""
        try:
            message = self._state.message(batch, ask, wait_ms, joins, ends)
            return await self._exchanged(server, batch, ask, message)
        finally:
            self._asking.settle(ask)

    async def _exchanged(
        self, server: ServerCalls, batch: list[Result], ask: Ask, message: Exchange
    ) -> Reply | None:
        asked_at = self._clock()
        try:
            reply = await server.exchange(message)
        except (BadRequest, DefinitionError) as error:
            self._state.refused(batch, str(error))
            return None
        except WindlassError as error:
            self._note_down(error)
            self._state.unsent.failed(batch)
            return None
        except asyncio.CancelledError:
            self._state.unsent.failed(batch)
            raise
        self._down = False
        for assigned in reply.attempts:
            self._renewer.hurry(assigned.lease_s)
        if message.joins and ask.slots:
            self._joined(reply, ask, message.joins)
        self._state.absorb(batch, reply, asked_at)
        if not reply.known:
            await self._sign_on_again(server)
        return reply if reply.known and (not batch or reply.results) else None

    def _joined(self, reply: Reply, ask: Ask, number: int) -> None:
        """Note who asks for the places of a side request from now on."""
        if not reply.joined:
            self._apart = self._apart or (self._waiting_ask == number and not reply.attempts)
        elif not self._asking.join(ask, number):
            # The one it joined has been answered, and the next asked for less than there is.
            self._state.unsent.added.set()

    def _note_down(self, error: WindlassError) -> None:
        level = logging.DEBUG if self._down else logging.WARNING  # once is enough
        log.log(level, "the server does not answer, going on trying: %s", error)
        self._down = True

    async def _sign_on(self) -> bool:
        """Register, however long the server takes to be there; false if told to stop first.

        A server that turns us away for good raises: its reason is for the operator.
        """
        backoff = Backoff(random_=self._random)
        while not self._stopping.is_set():
            try:
                self._set_terms(await self._main.register())
                return True
            except (Unavailable, ServerError) as error:
                self._note_down(error)
            await self._pause(backoff)
        return False

    async def _sign_on_again(self, server: ServerCalls) -> None:
        log.info("the server does not know this worker; registering again")
        try:
            self._set_terms(await server.register())
        except WindlassError as error:
            log.warning("cannot register: %s", error)

    def _set_terms(self, terms: Registered) -> None:
        self._poll_s = min(POLL_S_MAX, terms.lease_s * POLL_SHARE)
        self._renewer.set_terms(terms)

    async def _pause(self, backoff: Backoff) -> None:
        """Wait before the next try; when it is time to go, only for a moment."""
        pause_s = backoff.pause_s()
        if self._stopping.is_set():
            await asyncio.sleep(min(pause_s, 0.5))
            return
        with anyio.move_on_after(pause_s):
            await self._stopping.wait()

    async def _drain(self, drain_s: float) -> None:
        """Let handlers end and results arrive; what still runs after `drain_s` is given back."""
        runtime = self._state.runtime
        if runtime.load:
            log.info("waiting up to %g s for %d running attempts", drain_s, runtime.load)
        with anyio.move_on_after(drain_s):
            await self._idle()
        for call in runtime.calls:
            call.context.stop(Stop.CANCELLED)
        with anyio.move_on_after(1.0):
            await self._idle()
        self._state.give_back()  # handlers in threads cannot be ended from outside
        with anyio.move_on_after(FLUSH_S):
            await self._state.unsent.empty()

    async def _idle(self) -> None:
        while self._state.runtime.load:
            self._state.changed.clear()
            await self._state.changed.wait()

    async def _sign_off(self) -> None:
        try:
            await self._main.leave()
        except WindlassError as error:
            log.warning("could not sign off: %s", error)
