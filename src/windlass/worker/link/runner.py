"""The link worker: keeps one WebSocket to the server open and does what comes through it.

Results stay in `_unsettled` until the server says they are committed; a connection that breaks is
opened again with growing pauses, the session taken up or begun anew, and whatever was not settled
sent again. Running handlers notice nothing of it.
"""

import asyncio
import logging
import random
import time
from collections.abc import Callable
from typing import Any, Protocol

import anyio
import msgspec

from windlass.protocol.link import messages as m
from windlass.protocol.link.envelope import Generation, Refused
from windlass.protocol.link.worker import Event, FrameSettled, Ordered, Ready, Turned, WorkerLink
from windlass.worker.link.chains import Chains
from windlass.worker.link.executor import Feedback
from windlass.worker.link.feedback import FeedbackQueue
from windlass.worker.link.fit import flaw, said
from windlass.worker.link.orders import Commands, Orders
from windlass.worker.link.settings import LinkSettings
from windlass.worker.link.socket import Closed, Dial, Socket
from windlass.worker.link.tasks import Tasks, feedback_of

log = logging.getLogger(__name__)

_STEADY_S = 1.0
"""A server that kept us so long is a good one, though it may be killed often: the next pause is
short again. What runs here is taken away where we stay away for longer than a lease."""
_BUSY_S = 4.0
"""The longest pause while something runs here."""
ACCEPT_S = 10.0
"""How long the server may take to accept a session."""
_UNKNOWN = "Unknown session"
_STALE = ("service restart", "1012", _UNKNOWN)
"""Words of a server that no longer knows our session, or soon will not."""


class Vitals(Protocol):
    """What a heartbeat says."""

    def metrics(self, inflight: int, held: list[str]) -> dict[str, Any]: ...


class LinkRunner:
    """One worker's life on the link. Belongs to one event loop."""

    def __init__(
        self,
        settings: LinkSettings,
        link: WorkerLink,
        tasks: Tasks,
        packages: Commands,
        health: Vitals,
        dial: Dial,
        *,
        clock: Callable[[], float] | None = None,
        random_: random.Random | None = None,
        drifted: Callable[[], bool] = lambda: False,
    ) -> None:
        self._settings = settings
        self._link = link
        self._tasks = tasks
        self._health = health
        self._drifted = drifted
        self._dial = dial
        self._clock = clock or unix_clock()
        self._random = random_ or random.Random()
        self._unsettled: dict[str, m.Result | m.CommandError] = {}
        """What the server has not said it has, by task."""
        self._frames: dict[str, tuple[str, float]] = {}
        """Envelope id of a frame under way → the task it reports, and when it was sent."""
        self._ready_at = 0.0
        self._untold: list[m.PkgEvent] = []
        """What became of packages while there was nobody to tell."""
        self._chains = Chains(self._say, self._random)
        self._told = FeedbackQueue(
            lambda: link.ready and not link.channel.outbound.waiting,
            lambda message: self._say(message, message.task_id),
        )
        self._write = asyncio.Event()
        self._stopping = asyncio.Event()
        self._all_settled = asyncio.Event()
        self._beat_now = asyncio.Event()
        self._timer: asyncio.TimerHandle | None = None
        self._orders = Orders(packages, self._package_event)
        self._rebound: set[str] = set()
        """Runs that go on elsewhere, with tasks that still end here."""

    def stop(self) -> None:
        self._stopping.set()

    async def run(self, drain_s: float) -> None:
        """Work until `stop`; then let running tasks end and their results arrive."""
        async with anyio.create_task_group() as group:
            group.start_soon(self._connecting)
            await self._stopping.wait()
            self._tasks.stopping = True
            self._beat_now.set()
            with anyio.move_on_after(drain_s):
                await self._tasks.drain()
            for running in list(self._tasks.running):
                self._tasks.cancel(running, "the worker shuts down")
            with anyio.move_on_after(5.0):
                await self._tasks.drain()
                while self._unsettled:
                    self._all_settled.clear()
                    await self._all_settled.wait()
            group.cancel_scope.cancel()

    # Connections

    async def _connecting(self) -> None:
        pause_s = self._settings.reconnect_first_s
        while True:
            began, forgotten = self._clock(), False
            try:
                async with self._dial() as socket:
                    await self._connected(socket)
            except (Closed, TimeoutError, Refused) as error:
                log.warning("the link is down: %s", str(error) or type(error).__name__)
                if any(word in str(error) for word in _STALE):
                    forgotten = self._link.forget_session() and _UNKNOWN in str(error)
            except Exception:
                # Tasks go on, and what they return is to be reported.
                log.exception("the link broke by a mistake of ours; it is opened again")
            self._link.disconnected()
            if forgotten:
                continue  # it is there, and takes us with a new session
            if self._ready_at >= began and self._clock() - self._ready_at > _STEADY_S:
                pause_s = self._settings.reconnect_first_s
            # Workers that lost the same server should not all come back in the same moment.
            jitter = 1 + self._random.uniform(-1, 1) * self._settings.reconnect_jitter
            if self._tasks.running:
                # What runs here is taken away meanwhile, and nobody could say so.
                pause_s = min(pause_s, _BUSY_S)
            await asyncio.sleep(pause_s * jitter)
            pause_s = min(pause_s * 2, self._settings.reconnect_most_s)

    async def _connected(self, socket: Socket) -> None:
        """One connection, until it breaks."""
        self._link.connected(self._clock())
        async with asyncio.timeout(ACCEPT_S):
            await self._send_all(socket)
            while not self._link.ready:
                self._receive(await socket.receive())
                await self._send_all(socket)
        log.info("worker %s is on the link", self._settings.worker_id)
        pumps = [
            asyncio.ensure_future(pump)
            for pump in (self._reading(socket), self._writing(socket), self._beating())
        ]
        try:
            done, _ = await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
            for pump in done:
                pump.result()
        finally:
            for pump in pumps:
                pump.cancel()
            await asyncio.gather(*pumps, return_exceptions=True)
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None

    async def _reading(self, socket: Socket) -> None:
        while True:
            self._receive(await socket.receive())

    async def _writing(self, socket: Socket) -> None:
        while True:
            await self._write.wait()
            self._write.clear()
            await self._send_all(socket)

    async def _send_all(self, socket: Socket) -> None:
        for frame in self._link.take(self._clock()):
            await socket.send(frame.decode())
        due = self._link.channel.due
        if due is not None and self._timer is None:
            wait = max(0.0, due - self._clock())
            self._timer = asyncio.get_running_loop().call_later(wait, self._tick)

    def _tick(self) -> None:
        self._timer = None
        for frame in self._link.channel.tick(self._clock()):
            self._again(frame)
        self._write.set()

    def _again(self, frame: str) -> None:
        """A frame was sent often enough. A numbered one is sent on; a report must arrive."""
        task_id, _ = self._frames.get(frame, ("", 0.0))
        if task_id in self._unsettled and self._link.generation is Generation.FIRST:
            del self._frames[frame]
            self._send_report(self._unsettled[task_id])

    # Frames

    def _receive(self, frame: str | bytes) -> None:
        for event in self._link.receive(frame, self._clock()):
            self._handle(event)
        self._told.flush()
        self._write.set()

    def _handle(self, event: Event) -> None:
        match event:
            case Ready():
                # A new session begins undrained: a server that wants it otherwise says so.
                self._tasks.drained = self._tasks.drained and event.resumed
                self._ready_at = self._clock()
                self._beat_now.set()
                self._catch_up(resumed=event.resumed)
            case Turned():
                raise Refused(event.code, event.reason, fatal=True)
            case FrameSettled():
                self._settled(event)
            case Ordered():
                self._order(event.message)

    def _catch_up(self, *, resumed: bool) -> None:
        """Send what was said while there was nobody to hear it; in a new session, all of it
        again."""
        if not resumed:
            self._frames.clear()
        under_way = {task_id for task_id, _ in self._frames.values()}
        for task_id, report in list(self._unsettled.items()):
            if task_id not in under_way:
                self._send_report(report)
        self._chains.ask_again()
        untold, self._untold = self._untold, []
        for event in untold:
            self._package_event(event)

    def _order(self, message: m.Message) -> None:
        match message:
            case m.Dispatch():
                self._tasks.dispatched(message, self._feedback, self._chains.next_of)
            case m.Cancel():
                self._tasks.cancel(message.task_id, message.reason or "cancelled")
            case m.NextResponse():
                self._chains.answered(message)
            case m.Drain():
                self._drain(message)
            case m.PkgInstall():
                self._orders.install(message)
            case m.PkgUninstall():
                self._orders.uninstall(message)
            case m.ReleaseResources():
                self._orders.release(message.scope)
            case m.Rebind():
                self._rebound.add(message.run_id)
                self._let_go(message.run_id)
            case _:
                log.debug("%s needs nothing done here", type(message).__name__)

    def _drain(self, command: m.Drain) -> None:
        """Take nothing more, or something again; what runs goes on either way."""
        self._tasks.drained = command.reason != m.UNDRAIN
        told = "drains this worker" if self._tasks.drained else "has this worker take work again"
        log.info("the server %s: %s", told, command.reason or "no reason given")
        self._beat_now.set()

    def _let_go(self, run_id: str) -> None:
        """A run goes on elsewhere: what is kept for it goes when its last task here has ended."""
        here = any(task.dispatch.run_id == run_id for task in self._tasks.running.values())
        if run_id in self._rebound and not here:
            self._rebound.discard(run_id)
            self._orders.release(run_id)

    # Results

    def report(self, result: m.Result) -> None:
        self._unsettled[result.task_id] = result
        self._send_report(result)
        self._let_go(result.run_id)

    def refuse(self, dispatch: m.Dispatch, code: str, message: str, where: str) -> None:
        """Say that a dispatch is not carried out."""
        details = {
            "run_id": dispatch.run_id,
            "task_id": dispatch.task_id,
            "node_id": dispatch.node_id,
        }
        context = m.ErrorContext(where=where, details=details)
        error = m.CommandError(code=code, message=said(message), context=context)
        self._unsettled[dispatch.task_id] = error
        self._send_report(error)
        self._let_go(dispatch.run_id)

    def _send_report(self, report: m.Result | m.CommandError) -> None:
        if not self._link.ready:
            return
        self._told.flush_task(report.task_id)
        # Frames without a number are acknowledged only if that is asked for.
        asked = self._link.generation is Generation.FIRST
        frame = self._say(report, report.task_id, request=asked)
        self._frames[frame] = (report.task_id, self._clock())

    def _say(self, message: m.Message, corr: str, *, request: bool = False) -> str:
        """Send a message if there is anybody to hear it; the id of its frame, or ""."""
        if not self._link.ready:
            return ""
        self._write.set()
        return self._link.send(message, self._clock(), corr=corr, request=request)

    def _settled(self, event: FrameSettled) -> None:
        task_id, sent_at = self._frames.pop(event.id, ("", 0.0))
        if task_id:
            # A frame that was under way while the line was cut says nothing about the line.
            if sent_at >= self._ready_at:
                self._tasks.counts.round_trip((self._clock() - sent_at) * 1000)
            self._unsettled.pop(task_id, None)
            self._tasks.settled(task_id)
            if not self._unsettled:
                self._all_settled.set()

    def _feedback(self, dispatch: m.Dispatch) -> Feedback:
        def send(given: dict[str, Any]) -> None:
            try:
                message = feedback_of(dispatch, given)
            except msgspec.ValidationError as error:
                log.warning("task %s sent feedback that cannot travel: %s", dispatch.task_id, error)
                return
            why = flaw(message)
            if why:
                log.warning("task %s sent feedback that cannot travel: %s", dispatch.task_id, why)
            else:
                self._told.give(message)

        return send

    # Packages

    def _package_event(self, event: m.PkgEvent) -> None:
        # The inventory first: whoever hears of the outcome finds it true.
        self._link.refresh(self._clock())
        if not self._say(event, f"{event.name}@{event.version}"):
            self._untold.append(event)

    # Heartbeats

    async def _beating(self) -> None:
        while True:
            self._beat()
            pause = self._settings.heartbeat_s + self._random.uniform(
                0, self._settings.heartbeat_jitter_s
            )
            self._beat_now.clear()
            with anyio.move_on_after(pause):
                await self._beat_now.wait()

    def _beat(self) -> None:
        held = [*self._tasks.running, *self._unsettled]
        metrics = self._health.metrics(len(self._tasks.running), held)
        counts = self._tasks.counts
        if counts.round_trip_ms is not None:
            metrics["latency_ms"] = round(counts.round_trip_ms)
        healthy = not self._tasks.draining
        drifted = self._drifted()
        beat = m.Heartbeat(healthy=healthy, metrics=metrics)
        beat.packages = m.Drift(drift=True) if drifted else None
        self._link.beat(beat, self._clock())
        counts.heartbeat(healthy=healthy)
        if drifted:
            self._link.refresh(self._clock())
        self._write.set()

    def metrics(self) -> str:
        """What was counted, as Prometheus reads it."""
        return self._tasks.counts.text(len(self._tasks.running))


def unix_clock() -> Callable[[], float]:
    """Unix time that never runs backwards."""
    offset = time.time() - time.monotonic()
    return lambda: time.monotonic() + offset
