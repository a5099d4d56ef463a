"""The pull worker's books: attempts that came in, results that must go out, and what replies mean.

No I/O here. The loop asks for a message, sends it, and enters the reply, or that there was none.
"""

import asyncio
import logging
import time
from collections.abc import Callable

import msgspec

from windlass.protocol.exchange import RESULTS_MAX, Assigned, Exchange, Fault, Reply, Result
from windlass.worker.asking import Ask
from windlass.worker.context import Context, Stop
from windlass.worker.desk import Desk
from windlass.worker.leases import Leases
from windlass.worker.outcome import Outcome
from windlass.worker.runtime import Call, Runtime
from windlass.worker.unsent import UnsentResults

log = logging.getLogger(__name__)


class PullState:
    """Belongs to one event loop."""

    def __init__(
        self,
        runtime: Runtime,
        leases: Leases,
        clock: Callable[[], float] = time.monotonic,
        desk: Desk | None = None,
    ) -> None:
        self.runtime = runtime
        self.unsent = UnsentResults()
        self.changed = asyncio.Event()
        """Set when a handler has ended: a slot is free, and mostly a result is there."""
        self._leases = leases
        self._clock = clock
        self._desk = desk
        self._singly = 0
        self.taking = True
        """Whether what comes is begun; a worker that stops gives it back."""
        self._given_back: set[str] = set()

    def take(self) -> list[Result]:
        """The results for the next request."""
        if self._singly:
            self._singly -= 1
            return self.unsent.take(1)
        return self.unsent.take(RESULTS_MAX)

    def message(
        self, batch: list[Result], ask: Ask, wait_ms: int, joins: int = 0, ends: int = 0
    ) -> Exchange:
        return Exchange(
            services=self.runtime.services,
            slots=ask.slots,
            caps=ask.caps,
            number=ask.number,
            joins=joins,
            ends=ends,
            wait_ms=wait_ms,
            results=batch,
            load=self.runtime.load,
        )

    def absorb(self, batch: list[Result], reply: Reply, asked_at: float) -> None:
        """Enter a reply: settle results, stop what must stop, start what came."""
        for receipt in reply.results:
            if receipt.status not in ("accepted", "duplicate"):
                log.info("result of %s: %s %s", receipt.attempt_id, receipt.status, receipt.detail)
        for result in self.unsent.receive(batch, reply.results):
            self._leases.drop(result.attempt_id)
        self._leases.stop(reply.lost, Stop.LOST)
        self._leases.stop(reply.cancel, Stop.CANCELLED)
        for assigned in reply.attempts:
            if not self.taking:
                self.unsent.add(_unbegun(assigned))
                continue
            call = _call_of(assigned, self._clock, self._desk)
            self._leases.add(call.context, assigned.lease_s, asked_at, assigned.token)
            self.runtime.start(call, self._finished)

    def refused(self, batch: list[Result], reason: str) -> None:
        """The server cannot take what we sent: find the result to blame, and fail its attempt.

        A result that is too large, say, must not keep all the others from arriving.
        """
        if len(batch) > 1:
            self._singly = len(batch)
            self.unsent.failed(batch)
            return
        log.error("the server refuses a request: %s", reason)
        for result in batch:
            self.unsent.discard(result)
            if result.error is msgspec.UNSET:
                fault = Fault(kind="fatal", message=f"the server refused the result: {reason}")
                self.unsent.add(
                    Result(attempt_id=result.attempt_id, token=result.token, error=fault)
                )
            else:
                self._leases.drop(result.attempt_id)

    def give_back(self) -> None:
        """Report attempts whose handlers will not end; what they still return is not reported."""
        for call in self.runtime.calls:
            self._given_back.add(call.context.attempt_id)
            fault = Fault(kind="cancelled", message="the worker shut down before the service ended")
            self.unsent.add(_result_of(call, Outcome(fault=fault)))

    def _finished(self, call: Call, outcome: Outcome) -> None:
        self.changed.set()
        context = call.context
        if context.attempt_id in self._given_back:
            return
        if context.stopped is Stop.LOST:
            log.warning("attempt %s: its lease is lost, nothing is reported", context.attempt_id)
            self._leases.drop(context.attempt_id)
            self.unsent.added.set()  # there is nothing to send, but a place to ask for
            return
        self._leases.settle(context.attempt_id)
        self.unsent.add(_result_of(call, outcome))


def _unbegun(assigned: Assigned) -> Result:
    fault = Fault(kind="cancelled", message="the worker was about to shut down when this came")
    return Result(attempt_id=assigned.attempt_id, token=assigned.token, error=fault)


def _call_of(assigned: Assigned, clock: Callable[[], float], desk: Desk | None) -> Call:
    context = Context(
        attempt_id=assigned.attempt_id,
        run_id=assigned.run_id,
        task_id=assigned.task_id,
        node=assigned.node,
        number=assigned.number,
        params=msgspec.json.decode(assigned.params),
        role=assigned.role,
        feedback=assigned.feedback,
        clock=clock,
        desk=desk,
        env=assigned.env,
        token=assigned.token,
    )
    given = msgspec.json.decode(assigned.input)
    return Call(assigned.service, context, given, assigned.timeout_ms, assigned.token)


def _result_of(call: Call, outcome: Outcome) -> Result:
    return Result(
        attempt_id=call.context.attempt_id,
        token=call.token,
        output=msgspec.UNSET if outcome.output is None else outcome.output,
        error=msgspec.UNSET if outcome.fault is None else outcome.fault,
        log=call.context.log_text,
        marks=call.context.marks,
        usage=call.context.usage,
    )
