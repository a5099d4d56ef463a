"""A worker's session: what it can take, what it holds, and what becomes of it.

A session outlives its connections. While it has one, it states demand for every free slot, sends
what it is given and reports what comes back; without one it waits to be resumed, its leases run
out, and the kernel moves the work elsewhere. A slot is free again when the result is in, before it
is committed, so that the result and the demand for more travel in the same commit.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from typing import TYPE_CHECKING, Any

from windlass.engine.installing import Installing
from windlass.model.errors import Unauthorized, Unavailable
from windlass.model.rows import Failure
from windlass.model.tenants import ALL
from windlass.model.values import is_list
from windlass.protocol.link import codes
from windlass.protocol.link import messages as m
from windlass.protocol.link.envelope import feature_of
from windlass.protocol.link.server import Arrived, Garbled, ServerLink
from windlass.server.auth import Who
from windlass.server.link.asking import Asking
from windlass.server.link.dispatching import Dispatching
from windlass.server.link.held import Held, attempt_of, dispatch_id
from windlass.server.link.outcomes import failure_of_code
from windlass.server.link.outlived import Outlived
from windlass.server.link.profile import Profile
from windlass.server.link.reports import Reports

if TYPE_CHECKING:
    from windlass.server.link.plane import LinkPlane

log = logging.getLogger(__name__)

_ARRIVES_S = 3.0
"""How long a command may take to arrive."""
_UNREAD_MAX = 5
"""How many frames that are none a worker may send before what it holds is over."""
NOTE_AFTER_S = 0.1
"""An acknowledged task is shown as running only if it takes longer: most end before that, and
nothing depends on it."""


class LinkSession:
    """One worker, as long as it is the same process on the other side."""

    def __init__(
        self,
        plane: "LinkPlane",
        link: ServerLink,
        session_id: str,
        register: m.Register,
        tenant: str = ALL,
    ) -> None:
        self.plane = plane
        self.tenant = tenant
        """Whose tasks the worker gets; `*`: everybody's."""
        self.link = link
        self.id = session_id
        self.worker_id = link.worker
        self.instance = link.instance
        self.held: dict[str, Held] = {}
        self.profile = Profile(self.worker_id, register)
        self.installs: dict[str, Installing] = {}
        """What it was told to install."""
        self.reports = Reports(self)
        self.outlived = Outlived(self)
        self.heard_at = plane.clock()
        self.missed = 0
        """Heartbeats that should have come since the last one."""
        self.cut_at = self.heard_at
        """When it lost its connection, or began without one."""
        self.named = False
        """Its worker's row has named it; whose row names another's since has gone elsewhere."""
        self.given_up = False
        """It has been without one for so long that others were told."""
        self.proof: Callable[[], Awaitable[Who]] | None = None
        """Asks again who the worker has proven to be; None where nobody need prove anything."""
        self.draining = False
        self.base_url = ""
        """How the worker reaches this server over HTTP."""
        self.wake: Callable[[], None] | None = None
        """Has the connection write what the link holds; None without a connection."""
        self._awaited: dict[str, asyncio.Future[None]] = {}
        """Commands that somebody wants to see arrive."""
        self.asking = Asking(self, Dispatching(self).begin)
        self._zero_beats = 0
        self._tasks: set[asyncio.Task[None]] = set()

    # What it can take

    @property
    def connected(self) -> bool:
        return self.wake is not None

    @property
    def busy(self) -> int:
        return sum(1 for held in self.held.values() if not held.parked)

    def registered(self, register: m.Register) -> None:
        """Take over what the worker says it can do."""
        self.profile.register = register
        for package, manifest in self.profile.manifests.items():
            self.plane.engine.handlers.learn_manifest(package, manifest)
        self.ask()

    def ask(self) -> None:
        self.asking.ask()

    def drain(
        self, draining: bool, reason: str | None = None, deadline_ms: int | None = None
    ) -> None:
        """From now on it gets nothing new, or something again; tell it so."""
        self.draining = draining
        self.ask()
        if draining:
            self.send(m.Drain(reason=reason, deadline_ms=deadline_ms))
        elif "drain" in self.link.features:
            # The wire has no word for it; who advertises the feature takes it so.
            self.send(m.Drain(reason=m.UNDRAIN))

    def hold(self, held: Held) -> None:
        """An attempt is the worker's from now on."""
        self.held[held.attempt_id] = held

    # Sending

    def understands(self, message: m.Message) -> bool:
        feature = feature_of(message.__class__, self.link.generation)
        return not feature or feature in self.link.features

    def send(self, message: m.Message) -> bool:
        """Send a command, if the worker understands it and is there."""
        if not self.connected or not self.understands(message):
            return False
        self.link.send(message, self.plane.clock())
        self.flush()
        return True

    def flush(self) -> None:
        if self.wake is not None:
            self.wake()

    # What comes back

    async def deliver(self, message: m.Message) -> bool:
        """Send a command and see it arrive; False if the worker does not understand it.
        `Unavailable` if it is not there, or does not say so in time."""
        if not self.connected:
            raise Unavailable(f"worker {self.worker_id} is not connected here")
        if not self.understands(message):
            return False
        frame_id = self.link.send(message, self.plane.clock())
        arrived = self._awaited[frame_id] = asyncio.get_running_loop().create_future()
        self.flush()
        try:
            async with asyncio.timeout(_ARRIVES_S):
                await arrived
        except TimeoutError:
            raise Unavailable(f"worker {self.worker_id} does not answer") from None
        finally:
            self._awaited.pop(frame_id, None)
        return True

    def delivered(self, frame_id: str, *, ok: bool) -> None:
        """A dispatch arrived; one that was refused outright goes elsewhere. Whoever waits for
        another command to arrive is told."""
        waiter = self._awaited.get(frame_id)
        if waiter is not None and not waiter.done():
            waiter.set_result(None)
        held = self.held.get(attempt_of(frame_id))
        if held is None or held.acked:
            return
        held.acked = True
        now = self.plane.clock()
        self.plane.counts.ack_ms.add((now - held.at) * 1000)
        if not ok:
            failure = Failure("unreachable", f"worker {self.worker_id} refused the dispatch")
            self.end(held)
            self.reports.failed(held.attempt_id, failure)
            return
        loop = asyncio.get_running_loop()
        held.timer = loop.call_later(NOTE_AFTER_S, self._note_running, held)

    def _note_running(self, held: Held) -> None:
        held.timer = None
        if not held.stopped and held.attempt_id in self.held:
            started = self.plane.attempts.started(held.attempt_id)
            self.spawn(self.reports.quietly(started))

    async def still_allowed(self) -> bool:
        """Whether what the worker proved itself by still counts: tokens are revoked, and expire."""
        if self.proof is None:
            return True
        try:
            return (await self.proof()).may("worker")
        except Unauthorized:
            return False
        except Unavailable:
            return True  # nobody can say, and it was good a moment ago

    def undelivered(self, frame_id: str) -> None:
        """Nobody acknowledged a dispatch in time: the work goes elsewhere."""
        held = self.held.get(attempt_of(frame_id))
        if held is None or held.acked:
            return
        self.plane.counts.retried["ack_timeout"] += 1
        text = f"worker {self.worker_id} did not acknowledge the dispatch"
        # A numbered frame still arrives some time; the work is another's by then.
        self.send(m.Cancel(run_id=held.run_id, task_id=held.attempt_id, reason="not acknowledged"))
        self.end(held)
        failure = Failure("unreachable", text, code=codes.DISPATCH_UNAVAILABLE)
        self.reports.failed(held.attempt_id, failure)

    def arrived(self, arrived: Arrived) -> None:
        """Take a frame about the work; it is acknowledged when its effect is durable."""
        match arrived.message:
            case m.Result() as result:
                self._result(arrived, result)
            case m.CommandError() as error:
                self._command_error(arrived, error)
            case m.Feedback() as feedback:
                held = self.held.get(feedback.task_id)
                if held is not None and held.run_id == feedback.run_id and not held.stopped:
                    self.plane.feedback.take(self, held.attempt_id, feedback)
                self.settle(arrived)
            case m.PkgEvent() as event:
                self.plane.installs.reported(self, event)
                self.settle(arrived)
            case m.NextRequest() as request:
                self.plane.chains.asked(self, arrived, request)

    def garbled(self, garbled: Garbled) -> None:
        """A task has ended, and nobody will ever know how: it fails, and is not done again."""
        held = self.held.get(garbled.task_id or attempt_of(garbled.heard.envelope.corr or ""))
        if held is None or garbled.run_id not in ("", held.run_id):
            self.settle(garbled, codes.INVALID, garbled.reason)
            return
        self._over(held)
        failure = Failure("fatal", f"its result cannot be read: {garbled.reason}")
        self.reports.failure(garbled, held.attempt_id, failure, codes.INVALID)

    def unread(self, reason: str) -> None:
        """A frame was no frame at all, and ended its connection. The worker comes back and sends it
        again; if it goes on like that, one of them was to be the end of what it holds."""
        for held in list(self.held.values()):
            held.unread += 1
            if held.unread >= _UNREAD_MAX:
                self._over(held)
                text = f"worker {self.worker_id} sent {held.unread} frames that nobody can read"
                failure = Failure("failed", f"{text}: {reason[:200]}", code=codes.INVALID)
                self.reports.failed(held.attempt_id, failure)

    def settle(self, arrived: Arrived | Garbled, code: str = "", reason: str = "") -> None:
        self.link.settle(arrived, self.plane.clock(), code=code, reason=reason)
        self.flush()

    def _result(self, arrived: Arrived, result: m.Result) -> None:
        held = self.held.get(result.task_id)
        if held is None or held.run_id != result.run_id:
            self._unexpected(arrived, result.task_id)
            return
        self._over(held)
        elapsed_ms = (self.plane.clock() - held.at) * 1000
        self.plane.counts.result_ms[held.node_type].add(elapsed_ms)
        self.reports.result(arrived, result)

    def _command_error(self, arrived: Arrived, error: m.CommandError) -> None:
        corr = arrived.heard.envelope.corr or ""
        attempt_id = error.task_id or attempt_of(corr)
        held = self.held.get(attempt_id)
        if held is None or error.run_id not in ("", held.run_id):
            self._unexpected(arrived, attempt_id)
            return
        self._over(held)
        failure = failure_of_code(error.code, error.message)
        if failure.kind == "returned":
            self.plane.counts.retried["concurrency"] += 1
        self.reports.failure(arrived, held.attempt_id, failure)

    def _over(self, held: Held) -> None:
        """Word of a task is proof of its delivery, even if the acknowledgement never came."""
        self.link.channel.answered(dispatch_id(held.attempt_id))
        self.end(held)

    def _unexpected(self, arrived: Arrived, task_id: str) -> None:
        """A result for something this worker does not hold: told twice, an old one, or none of its
        business. Either way nothing changes, and it need not be sent again."""
        if self.reports.again(arrived, task_id):
            return
        log.info("%s reported %s, which it does not hold", self.worker_id, task_id[:200])
        self.settle(arrived, codes.RESULT_STALE, "this worker does not hold the task")

    def end(self, held: Held) -> None:
        """Free the slot of an attempt that is over, and ask for more before that is committed."""
        held.forget_timer()
        self.held.pop(held.attempt_id, None)
        self.plane.feedback.ended(held.attempt_id)
        self.ask()

    # Leases and health

    def beat(self, heartbeat: m.Heartbeat) -> None:
        """Compare what the worker says it has in hand with what we think it has."""
        self.profile.heartbeat = heartbeat
        self.heard_at = now = self.plane.clock()
        in_hand = heartbeat.metrics.get("held")
        if is_list(in_hand):
            known = set(map(str, in_hand))
            self.outlived.look(known)
            self._lose(h for h in self.held.values() if h.inherited and h.attempt_id not in known)
            for held in self.held.values():
                held.inherited = False
        elif heartbeat.metrics.get("inflight") == 0:
            self._zero_beats += 1
            if self._zero_beats > 1:
                # Twice in a row with nothing to do: whatever it had then, it has forgotten.
                old = now - self.plane.settings.forget_s
                self._lose(h for h in self.held.values() if h.at < old or h.inherited)
        else:
            self._zero_beats = 0
        self.ask()

    def _lose(self, lost: Iterable[Held]) -> None:
        for held in list(lost):
            self.end(held)
            text = f"worker {self.worker_id} has forgotten the task"
            self.reports.failed(held.attempt_id, Failure("lost", text))

    def lose_all(self) -> None:
        """The process behind this session is gone for good."""
        self.asking.withdraw()
        self._lose(self.held.values())

    def stop(self, attempt_id: str) -> None:
        """An attempt was cancelled, timed out or was taken away: tell the worker, if it listens."""
        held = self.held.get(attempt_id)
        if held is None or held.stopped:
            return
        held.stopped = True
        held.forget_timer()
        self._tell_stop(held)
        loop = asyncio.get_running_loop()
        # A worker that cannot be told keeps its slot busy, but not for ever.
        held.timer = loop.call_later(self.plane.attempts.lease_s, self.end, held)

    def _tell_stop(self, held: Held) -> None:
        self.send(m.Cancel(run_id=held.run_id, task_id=held.attempt_id, reason="stopped"))

    def inherit(self, held: Held) -> None:
        held.inherited = True
        held.acked = True
        self.hold(held)

    def resumed(self) -> None:
        """The worker is back before it was given up: its leases count again from now."""
        self.plane.engine.feed.mail()
        self.heard_at = self.plane.clock()
        for held in self.held.values():
            if held.stopped:
                # Nobody could tell it at the time.
                self._tell_stop(held)
        self.spawn(self.reports.quietly(self.plane.renew([self])))
        self.named = False
        self.spawn(self.reports.quietly(self.plane.noting.take_over(self)))
        self.ask()

    def disconnected(self) -> None:
        """Nothing can be sent for now; what was not yet sent goes back at once."""
        self.wake = None
        self.cut_at = self.plane.clock()
        self.given_up = False
        self.asking.withdraw()

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
