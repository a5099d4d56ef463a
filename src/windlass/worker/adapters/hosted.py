"""One package version and its host: started when it is needed, replaced when it is lost.

A call ends exactly once: with what its handler gave, with the loss of the host, or, when a handler
that should stop does not, by being abandoned. A host in which only abandoned calls are left has
nothing to lose and is ended.

A host that crashes with one call in it was brought down by that call, which fails. If there were
several, nobody knows which one it was, and none is blamed: they are lost, as when we end the host.
"""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from windlass.protocol.link import codes
from windlass.protocol.packages.errors import PackageError
from windlass.worker.adapters.desk import HostedDesk
from windlass.worker.adapters.environments import HostedEnv
from windlass.worker.adapters.host.frames import TooLarge
from windlass.worker.adapters.messages import (
    Answer,
    AtDesk,
    Cancel,
    Done,
    Evict,
    Feedback,
    FromHost,
    HandlerError,
    InEnv,
    Lost,
    Next,
    RunHandler,
)
from windlass.worker.adapters.process import HostProcess
from windlass.worker.adapters.questions import answer
from windlass.worker.adapters.registry import RunnablePackage
from windlass.worker.adapters.settings import HostSettings
from windlass.worker.context import Stop
from windlass.worker.resources.registry import Resources

log = logging.getLogger(__name__)

_EMPTY = msgspec.Raw(b"{}")

Tell = Callable[[dict[str, Any]], None]
Question = Next | InEnv | AtDesk
GoOn = Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]


class Pending:
    """A call that has not ended."""

    def __init__(
        self,
        run_id: str,
        task_id: str,
        tell: Tell,
        go_on: GoOn | None,
        env: HostedEnv | None = None,
        desk: HostedDesk | None = None,
    ) -> None:
        self.id = 0
        self.run_id = run_id
        self.task_id = task_id
        self.tell = tell
        self.go_on = go_on
        self.env = env
        self.desk = desk
        self.stop: Stop | None = None
        self.done: asyncio.Future[Done] = asyncio.get_running_loop().create_future()
        self.asked: set[asyncio.Task[None]] = set()

    def end(self, done: Done) -> None:
        for task in self.asked:
            task.cancel()
        if not self.done.done():
            self.done.set_result(done)


class Hosted:
    """The host of one package version, and the calls in it. Belongs to one event loop."""

    def __init__(
        self, runnable: RunnablePackage, settings: HostSettings, resources: Resources
    ) -> None:
        self.runnable = runnable
        self._settings = settings
        self._resources = resources
        self._loop = asyncio.get_running_loop()
        self._process: HostProcess | None = None
        self._starting = asyncio.Lock()
        self._started = 0
        self._failures = 0
        self._start_at = 0.0
        self._last_id = 0
        self._waiting: set[Pending] = set()
        self._pending: dict[int, Pending] = {}
        self._abandoned: set[int] = set()
        self._ending: set[asyncio.Task[None]] = set()
        self._idle = asyncio.Event()

    @property
    def owner(self) -> str:
        """What the objects of the present host are registered under."""
        return f"{'@'.join(self.runnable.key)}#{self._started}"

    @property
    def pid(self) -> int:
        return self._process.pid if self._process is not None else 0

    @property
    def pending(self) -> list[Pending]:
        return [*self._waiting, *self._pending.values()]

    async def run(self, pending: Pending, call: RunHandler, timeout_ms: int = 0) -> Done:
        """Run a call to its end; cancelling this cancels the handler.

        PackageError if its host does not come up.
        """
        process = self._process or await self._come_up(pending)
        if process is None:
            return pending.done.result()
        self._last_id += 1
        pending.id = self._last_id
        try:
            process.send(msgspec.structs.replace(call, id=pending.id))
        except TooLarge as error:
            return ended("FAILED", codes.RUNNER_FAILURE, f"the parameters are too large: {error}")
        self._pending[pending.id] = pending
        timer = None
        if timeout_ms > 0:
            after_s = timeout_ms / 1000
            timer = self._loop.call_later(after_s, self.stop_call, pending, Stop.TIMEOUT)
        try:
            return await pending.done
        except asyncio.CancelledError:
            self.stop_call(pending, Stop.CANCELLED)
            raise
        finally:
            self._idle.set()
            if timer is not None:
                timer.cancel()

    def stop_call(self, pending: Pending, reason: Stop) -> None:
        """Tell a handler to stop, and stop waiting for it after a while."""
        if pending.stop is not None:
            return
        pending.stop = reason
        if pending in self._waiting:
            pending.end(
                ended("CANCELLED", codes.RUNNER_CANCELLED, "cancelled before its host was there")
            )
        if pending.id not in self._pending:
            return
        if self._process is not None:
            self._process.send(Cancel(pending.id))
        self._loop.call_later(self._settings.grace_s, self._overdue, pending)

    def evict(self, resource_id: str) -> None:
        if self._process is not None:
            self._process.send(Evict(resource_id))

    async def drained(self, within_s: float) -> None:
        """Give the calls in it time to end; whoever waits sees to it that there are no new ones."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(within_s):
                while self.pending:
                    self._idle.clear()
                    await self._idle.wait()

    async def close(self, reason: str) -> None:
        """End the host; calls in it are lost for the reason."""
        for pending in list(self._waiting):
            pending.end(lost(reason))
        async with self._starting:
            process, self._process = self._process, None
            self._lose(reason)
            if process is not None:
                self._resources.drop_owner(self.owner)
                await process.stop()
        if self._ending:
            await asyncio.wait(list(self._ending))

    async def _come_up(self, pending: Pending) -> HostProcess | None:
        """The host once it is there; nothing if the call was stopped before."""
        self._waiting.add(pending)
        starting = self._loop.create_task(self._running())
        try:
            await asyncio.wait((starting, pending.done), return_when=asyncio.FIRST_COMPLETED)
            return None if pending.done.done() else starting.result()
        finally:
            self._waiting.discard(pending)
            self._idle.set()
            starting.cancel()

    async def _running(self) -> HostProcess:
        while self._process is None:
            async with self._starting:
                if self._process is None:
                    await asyncio.sleep(max(0.0, self._start_at - self._loop.time()))
                    self._process = await self._start()
        return self._process

    async def _start(self) -> HostProcess:
        self._started += 1
        owner = self.owner
        process = HostProcess(
            self.runnable,
            self._settings,
            self._received,
            lambda body: answer(self._resources, owner, body),
            lambda: self._gone(process, owner),
        )
        try:
            await process.start(self._resources.settings.worker_id)
        except PackageError:
            self._back_off()
            raise
        except asyncio.CancelledError:
            self._end(process)  # whoever wanted it does not any more, and nobody else knows it
            raise
        return process

    def _received(self, message: FromHost) -> None:
        match message:
            case Done():
                self._done(message)
            case Feedback():
                pending = self._pending.get(message.id)
                if pending is not None:
                    self._tell(pending, message.body)
            case Next() | InEnv() | AtDesk():
                self._asked(message)
            case _:
                pass

    def _done(self, done: Done) -> None:
        self._failures = 0
        self._abandoned.discard(done.id)
        pending = self._pending.pop(done.id, None)
        if pending is not None:
            pending.end(done)
        self._end_if_stuck()

    def _tell(self, pending: Pending, body: dict[str, Any]) -> None:
        try:
            pending.tell(body)
        except Exception:
            log.exception("feedback of task %s was not taken", pending.task_id)

    def _asked(self, message: Question) -> None:
        pending = self._pending.get(message.id)
        if pending is None:
            return
        task = self._loop.create_task(self._answer(pending, message))
        pending.asked.add(task)
        task.add_done_callback(pending.asked.discard)

    async def _answer(self, pending: Pending, message: Question) -> None:
        try:
            found = Answer(n=message.n, value=await _answered(pending, message))
        except Exception as error:  # noqa: BLE001  told to the handler that asked
            found = Answer(n=message.n, error=str(error) or type(error).__name__)
        if self._process is not None:
            self._process.send(found)

    def _overdue(self, pending: Pending) -> None:
        """A handler did not stop: its caller goes on, its host goes as soon as it may."""
        if self._pending.pop(pending.id, None) is None:
            return
        self._abandoned.add(pending.id)
        name = "@".join(self.runnable.key)
        log.warning("task %s of %s does not stop; going on without it", pending.task_id, name)
        text = "the handler did not stop when it was told to"
        pending.end(ended("CANCELLED", codes.RUNNER_CANCELLED, text, {"abandoned": True}))
        self._end_if_stuck()

    def _end_if_stuck(self) -> None:
        if self._abandoned and not self._pending and self._process is not None:
            process, self._process = self._process, None
            self._abandoned.clear()
            self._resources.drop_owner(self.owner)
            self._end(process)

    def _end(self, process: HostProcess) -> None:
        task = self._loop.create_task(process.kill())
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)

    def _gone(self, process: HostProcess, owner: str) -> None:
        """A host ended by itself."""
        if self._process is not process:
            return  # we ended it, or it never came up
        self._process = None
        count = len(self._pending) + len(self._abandoned)
        self._abandoned.clear()
        self._back_off()
        self._resources.drop_owner(owner)
        self._end(process)
        name = "@".join(self.runnable.key)
        log.warning("the host of %s ended with %d calls in it", name, count)
        reason = f"the process that ran {name} ended while the task was in it"
        if count == 1:
            self._lose(reason, ended("FAILED", codes.RUNNER_FAILURE, reason))
        else:
            self._lose(f"{reason} beside others")

    def _lose(self, reason: str, done: Done | None = None) -> None:
        gone, self._pending = list(self._pending.values()), {}
        for pending in gone:
            if pending.stop is not None:
                pending.end(ended("CANCELLED", codes.RUNNER_CANCELLED, "the handler was cancelled"))
            else:
                pending.end(done or lost(reason))
        self._idle.set()

    def _back_off(self) -> None:
        wait_s = min(self._settings.backoff_s_max, self._settings.backoff_s * 2**self._failures)
        self._failures = min(self._failures + 1, 16)
        self._start_at = self._loop.time() + wait_s


async def _answered(pending: Pending, message: Question) -> Any:
    if isinstance(message, AtDesk):
        if pending.desk is None:
            raise LookupError("this call has no desk: its server or its worker is too old for one")
        return await pending.desk.answer(message.op, message.fields)
    if isinstance(message, InEnv):
        if pending.env is None:
            raise LookupError("this call has no environment")
        return await pending.env.answer(message.op, message.fields)
    if pending.go_on is None:
        raise LookupError("next_no_chain: there is no chain to go on with here")
    return await pending.go_on(message.fields)


def ended(status: str, code: str, message: str, details: dict[str, Any] | None = None) -> Done:
    """An end that no handler reported."""
    error = HandlerError(code=code, message=message, details=details)
    return Done(id=0, status=status, result=_EMPTY, error=error)


def lost(reason: str) -> Lost:
    """The end of a call whose host is not there, for no fault of the call."""
    error = HandlerError(code=codes.DISPATCH_UNAVAILABLE, message=reason)
    return Lost(id=0, status="FAILED", result=_EMPTY, error=error)
