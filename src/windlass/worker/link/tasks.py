"""Tasks in hand: each dispatch runs once, within its limits, and its result is kept until the
server has it.

No I/O here. A dispatch that comes twice is not run twice: while it runs it is only acknowledged
again, and once it has ended its result is sent again.
"""

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import msgspec

from windlass.protocol.link import codes
from windlass.protocol.link import messages as m
from windlass.worker.link.counts import Counts
from windlass.worker.link.errors import NotHere
from windlass.worker.link.executor import Executor, Feedback, Next
from windlass.worker.link.fit import fitting

log = logging.getLogger(__name__)

ENDED_MAX = 4096
"""Ended tasks whose names are remembered, in case their dispatch comes again."""


class Running:
    """One task under way."""

    __slots__ = ("dispatch", "parked", "reason", "task")

    def __init__(self, dispatch: m.Dispatch) -> None:
        self.dispatch = dispatch
        self.parked = 0
        """Calls to the rest of its chain that it waits for; meanwhile it takes no slot."""
        self.reason = ""
        self.task: asyncio.Task[None] | None = None


class Tasks:
    """Starts, bounds and ends tasks. Belongs to one event loop."""

    def __init__(
        self,
        executors: list[Executor],
        max_parallel: int,
        per_node: dict[str, int],
        on_result: Callable[[m.Result], None],
        on_refused: Callable[[m.Dispatch, str, str, str], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._executors = executors
        self.max_parallel = max_parallel
        self.per_node = per_node
        self._on_result = on_result
        self._on_refused = on_refused
        self._clock = clock
        self.counts = Counts()
        self.running: dict[str, Running] = {}
        self._ended: OrderedDict[str, m.Result | None] = OrderedDict()
        """Results that may be asked for again; None for those the server has."""
        self.stopping = False
        """The worker is about to end."""
        self.drained = False
        """The server said that it should take nothing more, for now."""
        self.finished = asyncio.Event()

    @property
    def draining(self) -> bool:
        """Whether what runs goes on, and nothing new begins."""
        return self.stopping or self.drained

    @property
    def busy(self) -> int:
        return sum(1 for running in self.running.values() if not running.parked)

    def dispatched(
        self,
        dispatch: m.Dispatch,
        feedback: Callable[[m.Dispatch], Feedback],
        next_: Callable[[Running], Next],
    ) -> None:
        """Take a dispatch: run it, or say why not."""
        task_id = dispatch.task_id
        if task_id in self.running:
            return
        if task_id in self._ended:
            known = self._ended[task_id]
            if known is not None:
                self._on_result(known)
            return
        odd = odd_metadata(dispatch)
        if odd:
            code = codes.DISPATCH_INVALID_METADATA
            self._on_refused(dispatch, code, odd, "worker.runner")
            return
        executor = self._find(dispatch)
        if executor is None:
            name = f"{dispatch.package_name}@{dispatch.package_version}:{dispatch.node_type}"
            self._on_refused(
                dispatch, codes.UNKNOWN, f"no handler for {name} here", "worker.runner"
            )
            return
        why = self._too_much(dispatch)
        if why:
            self._on_refused(dispatch, codes.CONCURRENCY, why, "worker.concurrency")
            return
        running = Running(dispatch)
        self.running[task_id] = running
        running.task = asyncio.ensure_future(
            self._run(running, executor, feedback(dispatch), next_(running))
        )
        running.task.add_done_callback(lambda _: self._never_began(running))

    def _never_began(self, running: Running) -> None:
        """A task that is cancelled before its first step never gets to say so itself."""
        dispatch = running.dispatch
        if dispatch.task_id in self.running:
            result = failed(dispatch, codes.RUNNER_CANCELLED, running.reason or "stopped")
            result.status = "CANCELLED"
            self._ended_with(dispatch, result)

    def _find(self, dispatch: m.Dispatch) -> Executor | None:
        return next((e for e in self._executors if e.handles(dispatch)), None)

    def _too_much(self, dispatch: m.Dispatch) -> str:
        if self.draining:
            return "the worker is draining"
        if self.busy >= self.max_parallel:
            return f"{self.max_parallel} tasks run already"
        limit = self.per_node.get(dispatch.node_type)
        others = [running.dispatch for running in self.running.values()]
        if limit is not None:
            same = sum(1 for other in others if other.node_type == dispatch.node_type)
            if same >= limit:
                return f"{limit} tasks of {dispatch.node_type} run already"
        key = dispatch.concurrency_key
        if key and any(other.concurrency_key == key for other in others):
            return f'a task with the key "{key}" runs already'
        return ""

    async def _run(
        self, running: Running, executor: Executor, feedback: Feedback, next_: Next
    ) -> None:
        dispatch = running.dispatch
        began = self._clock()
        try:
            result = await executor.execute(dispatch, feedback, next_)
        except asyncio.CancelledError:
            result = failed(dispatch, codes.RUNNER_CANCELLED, running.reason or "stopped")
            result.status = "CANCELLED"
        except NotHere as error:
            self._leave(dispatch, str(error))
            return
        except Exception as error:
            log.exception("task %s failed", dispatch.task_id)
            result = failed(dispatch, codes.RUNNER_FAILURE, f"{type(error).__name__}: {error}")
        result.duration_ms = round((self._clock() - began) * 1000)
        self.counts.task_ms[dispatch.node_type].add(result.duration_ms)
        self._ended_with(dispatch, result)

    def _leave(self, dispatch: m.Dispatch, why: str) -> None:
        """Give a task back that says nothing about itself by failing here."""
        self.running.pop(dispatch.task_id, None)
        self.finished.set()
        self._on_refused(dispatch, codes.DISPATCH_UNAVAILABLE, why, "worker.runner")

    def _ended_with(self, dispatch: m.Dispatch, result: m.Result) -> None:
        result = fitting(result)
        self.running.pop(dispatch.task_id, None)
        self._ended[dispatch.task_id] = result
        self.finished.set()
        self._on_result(result)

    def cancel(self, task_id: str, reason: str) -> None:
        running = self.running.get(task_id)
        if running is not None and running.task is not None:
            running.reason = reason
            running.task.cancel()

    def settled(self, task_id: str) -> None:
        """The server has the result; its name is enough from now on."""
        if task_id in self._ended:
            self._ended[task_id] = None
            self._ended.move_to_end(task_id)
            while len(self._ended) > ENDED_MAX:
                self._ended.popitem(last=False)

    async def drain(self) -> None:
        """Begin nothing new, and wait until nothing runs any more."""
        self.stopping = True
        while self.running:
            self.finished.clear()
            await self.finished.wait()


def odd_metadata(dispatch: m.Dispatch) -> str:
    """What does not fit together in what a dispatch says beside its parameters; "" if all does."""
    for name in ("node_type", "package_name", "package_version"):
        if not getattr(dispatch, name):
            return f"{name} is empty"
    index, chain = dispatch.chain_index, dispatch.middleware_chain
    if index is not None and not dispatch.host_node_id:
        return "chain_index without host_node_id"
    if index is not None and index > len(chain or ()):
        return f"chain_index is {index}, and the chain has {len(chain or ())} middlewares"
    return ""


def failed(dispatch: m.Dispatch, code: str, message: str) -> m.Result:
    return m.Result(
        run_id=dispatch.run_id,
        task_id=dispatch.task_id,
        status="FAILED",
        result=msgspec.Raw(b"{}"),
        error=m.ErrorField(code=code, message=message),
    )


def feedback_of(dispatch: m.Dispatch, given: dict[str, Any]) -> m.Feedback:
    """A handler's words as a frame."""
    return msgspec.convert(
        {**given, "run_id": dispatch.run_id, "task_id": dispatch.task_id}, m.Feedback
    )
