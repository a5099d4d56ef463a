"""Claims attempts for one worker and executes them, whatever executing means for it.

A slot is free again the moment its execution ends, before the result is committed, so the
result and the demand for more work travel in the same commit: the next task of the run is leased
there and then.
"""

import asyncio
import logging
import traceback
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence

import anyio
import msgspec

from windlass.model.assignment import Assignment
from windlass.model.errors import StaleLease, Unavailable, WindlassError
from windlass.model.log_marks import LogMark
from windlass.model.rows import Failure, Json
from windlass.model.tenants import ALL
from windlass.ports.work import Waiting, Work

log = logging.getLogger(__name__)

_LAST_WORDS_S = 5.0
_ASK_AGAIN_S = 1.0
_UNBOUNDED: Mapping[str, int] = {}


class Done(msgspec.Struct, frozen=True):
    """The result of an attempt as JSON text, and what it logged."""

    output: Json
    log: str = ""
    usage: Mapping[str, float] = {}
    """What it has used up, by unit."""
    marks: Sequence[LogMark] = ()
    """What is known of stretches of the log."""


Execute = Callable[[Assignment], Awaitable[Done]]
"""Does one attempt; returns its result or raises."""


class AttemptError(Exception):
    """An attempt ended without a result, for the reason it carries."""

    def __init__(
        self,
        failure: Failure,
        log: str = "",
        usage: Mapping[str, float] | None = None,
        marks: Sequence[LogMark] = (),
    ) -> None:
        super().__init__(failure.message)
        self.failure = failure
        self.log = log
        self.usage = usage or {}
        self.marks = marks


class Runner:
    """Claims from some queues and executes what it gets."""

    def __init__(
        self,
        work: Work,
        worker_id: str,
        execute: Mapping[str, Execute],
        slots: int,
        *,
        holder: str = "",
        url: str = "",
        caps: Mapping[str, int] | None = None,
        tenant: str = ALL,
    ) -> None:
        """`caps` bounds the attempts of single services below `slots`; the work is a tenant's, or
        everybody's."""
        self._tenant = tenant
        self._caps = caps or {}
        self._services: dict[str, str] = {}
        self._work = work
        self._worker_id = worker_id
        self._holder = holder
        self._url = url
        self._execute = execute
        self._queues = tuple(execute)
        self._free = slots
        self._load = 0
        self._retired = False
        self._takers: set[asyncio.Task[None]] = set()
        self._waiting: Waiting | None = None
        self._running: dict[str, asyncio.Task[None]] = {}

    @property
    def load(self) -> int:
        """What the worker last said it carries, from wherever."""
        return self._load

    @load.setter
    def load(self, load: int) -> None:
        self._load = load
        if self._waiting is not None:
            self._waiting.weigh(load)

    async def run(self) -> None:
        """Claim and execute until cancelled, or until retired and done."""
        try:
            self._ask_for_work()
            await self._keep_leases()
        finally:
            self.retire()
            running = list(self._running.values())
            for task in running:
                task.cancel()
            with anyio.move_on_after(_LAST_WORDS_S, shield=True):
                # Each gives its attempt back, so that another can have it at once.
                await asyncio.gather(*running, return_exceptions=True)

    def retire(self) -> None:
        """Take no more work; what runs goes on."""
        self._retired = True
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            for given in waiting.withdraw():
                self._begin(given)
        for taker in self._takers:
            taker.cancel()

    def _ask_for_work(self) -> None:
        """State demand for all free slots, now: what is committed next may already fill them."""
        if self._retired:
            return
        if self._waiting is not None:
            self._waiting.resize(self._free, self._room())
        elif self._free > 0:
            self._waiting = self._work.want(
                self._worker_id,
                self._queues,
                self._free,
                holder=self._holder,
                url=self._url,
                load=self.load,
                caps=self._room(),
                tenant=self._tenant,
            )
            taker = asyncio.ensure_future(self._take(self._waiting))
            self._takers.add(taker)
            taker.add_done_callback(self._took)

    def _took(self, taker: asyncio.Task[None]) -> None:
        self._takers.discard(taker)
        error = None if taker.cancelled() else taker.exception()
        if error is not None:
            log.error("%s was given nothing; it asks again", self._worker_id, exc_info=error)
            self._waiting = None
            asyncio.get_running_loop().call_later(_ASK_AGAIN_S, self._ask_for_work)

    def _room(self) -> Mapping[str, int]:
        """Of the services with a bound of their own, how many more can begin."""
        if not self._caps:
            return _UNBOUNDED
        running = Counter(self._services.values())
        return {service: cap - running[service] for service, cap in self._caps.items()}

    async def _take(self, waiting: Waiting) -> None:
        assignments = await waiting.assignments()
        self._waiting = None
        for assignment in assignments:
            self._begin(assignment)
        self._ask_for_work()

    def _begin(self, assignment: Assignment) -> None:
        self._free -= 1
        if assignment.service in self._caps:
            self._services[assignment.attempt_id] = assignment.service
        task = asyncio.ensure_future(self._attempt(assignment))
        self._running[assignment.attempt_id] = task
        # One that is cancelled before its first step never gets to free its slot itself.
        task.add_done_callback(lambda _: self._release(assignment))

    async def _attempt(self, assignment: Assignment) -> None:
        try:
            outcome = await self._outcome(assignment)
            self._release(assignment)
            await self._report(assignment.attempt_id, outcome)
        except StaleLease:
            log.info("attempt %s was taken away", assignment.attempt_id)
        except WindlassError as error:
            log.warning("attempt %s could not be reported: %s", assignment.attempt_id, error)

    async def _report(self, attempt_id: str, outcome: Done | AttemptError) -> None:
        log_text = outcome.log or None
        for last in (False, False, False, True):
            try:
                if isinstance(outcome, AttemptError):
                    await self._work.failed(
                        attempt_id,
                        outcome.failure,
                        log_text,
                        usage=outcome.usage,
                        marks=outcome.marks,
                    )
                else:
                    await self._work.succeeded(
                        attempt_id,
                        outcome.output,
                        log_text,
                        usage=outcome.usage,
                        marks=outcome.marks,
                    )
                return
            except Unavailable as error:
                if last:
                    raise
                await asyncio.sleep(error.retry_after_s)

    async def _outcome(self, assignment: Assignment) -> Done | AttemptError:
        try:
            return await self._execute[f"{assignment.transport}:{assignment.service}"](assignment)
        except asyncio.CancelledError:
            return AttemptError(Failure("cancelled", "stopped when asked to"))
        except AttemptError as error:
            return error
        except Exception as error:
            log.debug("attempt %s failed", assignment.attempt_id, exc_info=True)
            trace = "".join(traceback.format_exception(error))
            return AttemptError(Failure("failed", f"{type(error).__name__}: {error}"), trace)

    def _release(self, assignment: Assignment) -> None:
        if self._running.pop(assignment.attempt_id, None) is not None:
            self._services.pop(assignment.attempt_id, None)
            self._free += 1
            self._ask_for_work()

    async def _keep_leases(self) -> None:
        """Renew what runs; stop what was taken away or asked to stop."""
        while not (self._retired and not self._running):
            await asyncio.sleep(self._work.lease_s / 3)
            held = list(self._running)
            if not held:
                continue
            try:
                kept = await self._work.renew(held)
            except Unavailable:
                continue
            except Exception:
                log.exception("leases of %s were not renewed; it goes on", self._worker_id)
                continue
            for attempt_id in held:
                task = self._running.get(attempt_id)
                if task is not None and kept.get(attempt_id, True):
                    task.cancel()

    def stop(self, attempt_id: str) -> None:
        """Cancel an attempt that was taken away or asked to stop, if it runs here."""
        task = self._running.get(attempt_id)
        if task is not None:
            task.cancel()
