"""Runs attempts inside this process: Python functions, by the name of their service.

A slot is free again the moment its function returns, before the result is committed, so the
result and the demand for more work travel in the same commit: the next task of the run is leased
there and then.
"""

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec

from windlass.model.assignment import Assignment
from windlass.model.errors import StaleLease, Unavailable, WindlassError
from windlass.model.rows import Failure, Json
from windlass.ports.work import Waiting, Work

log = logging.getLogger(__name__)

Execute = Callable[[Assignment], Awaitable[Json]]
"""Does one attempt; returns its result as JSON text or raises."""


class AttemptError(Exception):
    """An attempt ended without a result, for the reason it carries."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


class LocalRunner:
    """Claims from some queues and executes what it gets."""

    def __init__(self, work: Work, worker_id: str, execute: Mapping[str, Execute], slots: int) -> None:
        self._work = work
        self._worker_id = worker_id
        self._execute = execute
        self._queues = tuple(execute)
        self._free = slots
        self._takers: set[asyncio.Task[None]] = set()
        self._waiting: Waiting | None = None
        self._running: dict[str, asyncio.Task[None]] = {}

    async def run(self) -> None:
        """Claim and execute until cancelled."""
        try:
            self._ask_for_work()
            await self._keep_leases()
        finally:
            if self._waiting is not None:
                self._waiting.withdraw()
            for task in [*self._running.values(), *self._takers]:
                task.cancel()

    def _ask_for_work(self) -> None:
        """State demand for all free slots, now: what is committed next may already fill them."""
        if self._waiting is not None:
            self._waiting.slots = self._free
        elif self._free > 0:
            self._waiting = self._work.want(self._worker_id, self._queues, self._free)
            taker = asyncio.ensure_future(self._take(self._waiting))
            self._takers.add(taker)
            taker.add_done_callback(self._takers.discard)

    async def _take(self, waiting: Waiting) -> None:
        assignments = await waiting.assignments()
        self._waiting = None
        for assignment in assignments:
            self._free -= 1
            task = asyncio.ensure_future(self._attempt(assignment))
            self._running[assignment.attempt_id] = task
        self._ask_for_work()

    async def _attempt(self, assignment: Assignment) -> None:
        try:
            outcome = await self._outcome(assignment)
            self._release(assignment)
            await self._report(assignment.attempt_id, outcome)
        except StaleLease:
            log.info("attempt %s was taken away", assignment.attempt_id)
        except WindlassError as error:
            log.warning("attempt %s could not be reported: %s", assignment.attempt_id, error)

    async def _report(self, attempt_id: str, outcome: Json | Failure) -> None:
        for last in (False, False, False, True):
            try:
                if isinstance(outcome, Failure):
                    await self._work.failed(attempt_id, outcome)
                else:
                    await self._work.succeeded(attempt_id, outcome)
                return
            except Unavailable as error:
                if last:
                    raise
                await asyncio.sleep(error.retry_after_s)

    async def _outcome(self, assignment: Assignment) -> Json | Failure:
        try:
            return await self._execute[assignment.queue](assignment)
        except asyncio.CancelledError:
            self._release(assignment)
            raise
        except AttemptError as error:
            return error.failure
        except Exception as error:
            log.debug("attempt %s failed", assignment.attempt_id, exc_info=True)
            return Failure("failed", f"{type(error).__name__}: {error}")

    def _release(self, assignment: Assignment) -> None:
        if self._running.pop(assignment.attempt_id, None) is not None:
            self._free += 1
            self._ask_for_work()

    async def _keep_leases(self) -> None:
        """Renew what runs; stop what was taken away or asked to stop."""
        while True:
            await asyncio.sleep(self._work.lease_s / 3)
            held = list(self._running)
            if not held:
                continue
            try:
                kept = await self._work.renew(held)
            except Unavailable:
                continue
            for attempt_id in held:
                task = self._running.get(attempt_id)
                if task is not None and kept.get(attempt_id, True) is True:
                    task.cancel()


def function(handler: Callable[..., Any], *, inline: bool = False) -> Execute:
    """Execute a function `(input, params) -> result`; a blocking one gets a thread."""

    async def execute(assignment: Assignment) -> Json:
        input_ = msgspec.json.decode(assignment.input)
        params = msgspec.json.decode(assignment.params)
        if inline:
            result = handler(input_, params)
        elif inspect.iscoroutinefunction(handler):
            result = await handler(input_, params)
        else:
            result = await asyncio.to_thread(handler, input_, params)
        return msgspec.json.encode(result).decode()

    return execute
