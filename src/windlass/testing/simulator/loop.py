"""An event loop whose time is a number: it jumps to the next timer when nothing is ready.

No threads, no sockets, no real time. Callbacks belong to the simulated process whose context they
run in; those of a crashed process are dropped, those of a paused one wait until it goes on.
"""

import asyncio
import contextvars
import heapq
import random
from collections.abc import Callable, Coroutine
from typing import Any, Protocol

CALLBACKS_MAX = 400_000
"""More than any world needs: beyond it something goes round in circles."""


class Owner(Protocol):
    """A process, as far as the loop cares."""

    def admits(self, handle: "VirtualHandle") -> bool:
        """Whether a callback may run now; a process that says no keeps it or drops it."""
        ...

    def adopt(self, task: "asyncio.Task[Any]") -> None: ...


OWNER: contextvars.ContextVar[Owner | None] = contextvars.ContextVar("owner", default=None)


class Stuck(Exception):
    """Nothing is left that could ever happen."""


class Spinning(Exception):
    """Far more happens than the world could need."""


class VirtualHandle(asyncio.TimerHandle):
    """A callback and the process it belongs to."""

    def __init__(
        self,
        when: float,
        callback: Callable[..., object],
        args: tuple[Any, ...],
        loop: asyncio.AbstractEventLoop,
        context: contextvars.Context | None,
    ) -> None:
        context = contextvars.copy_context() if context is None else context
        super().__init__(when, callback, args, loop, context)
        self.owner = context.get(OWNER)

    def run(self) -> None:
        self._run()


class VirtualLoop(asyncio.BaseEventLoop):
    """Runs one simulated world. `order` shuffles what is ready at the same moment."""

    def __init__(self, order: random.Random | None = None) -> None:
        super().__init__()
        self._virtual_s = 0.0
        self._order = order
        self._soon: list[VirtualHandle] = []
        self._later: list[tuple[float, float, int, VirtualHandle]] = []
        self._count = 0
        self._failure: BaseException | None = None
        self.closing = False
        self.tasks: list[asyncio.Task[Any]] = []
        self.set_task_factory(self._new_task)
        self.set_exception_handler(lambda loop, context: None)

    def _new_task(
        self,
        loop: asyncio.AbstractEventLoop,
        coro: Any,
        context: contextvars.Context | None = None,
    ) -> "asyncio.Task[Any]":
        task: asyncio.Task[Any] = asyncio.Task(coro, loop=loop, context=context)
        self.tasks.append(task)
        owner = OWNER.get() if context is None else context.get(OWNER)
        if owner is not None:
            owner.adopt(task)
        return task

    def fail(self, error: BaseException) -> None:
        """End the world: `run_until_complete` raises this."""
        if self._failure is None:
            self._failure = error

    def time(self) -> float:
        return self._virtual_s

    def call_soon(  # type: ignore[override]
        self,
        callback: Callable[..., object],
        *args: Any,
        context: contextvars.Context | None = None,
    ) -> VirtualHandle:
        handle = VirtualHandle(self._virtual_s, callback, args, self, context)
        if not self.closing:
            self._soon.append(handle)
        return handle

    call_soon_threadsafe = call_soon  # type: ignore[assignment]

    def call_at(  # type: ignore[override]
        self,
        when: float,
        callback: Callable[..., object],
        *args: Any,
        context: contextvars.Context | None = None,
    ) -> VirtualHandle:
        handle = VirtualHandle(when, callback, args, self, context)
        self._count += 1
        tie = self._order.random() if self._order is not None else 0.0
        heapq.heappush(self._later, (when, tie, self._count, handle))
        return handle

    def again(self, handles: list[VirtualHandle]) -> None:
        """Callbacks that waited for their process are ready now."""
        self._soon += handles

    def _run_once(self) -> None:
        if not self._soon:
            self._jump()
        later = self._later
        while later and later[0][0] <= self._virtual_s:
            self._soon.append(heapq.heappop(later)[3])
        ready, self._soon = self._soon, []
        if self._order is not None and len(ready) > 1:
            self._order.shuffle(ready)
        self._count += len(ready)
        if self._count > CALLBACKS_MAX:
            raise Spinning(f"{CALLBACKS_MAX} callbacks within {self._virtual_s:.1f} virtual s")
        for handle in ready:
            if not handle.cancelled() and (handle.owner is None or handle.owner.admits(handle)):
                handle.run()
            if self._failure is not None:
                raise self._failure

    def _jump(self) -> None:
        later = self._later
        while later and later[0][3].cancelled():
            heapq.heappop(later)
        if not later:
            raise Stuck(f"nothing happens after {self._virtual_s:.1f} virtual seconds")
        self._virtual_s = max(self._virtual_s, later[0][0])

    def end(self) -> None:
        """Let go of everything without running any of it."""
        self.closing = True
        for task in self.tasks:
            if not task.done():
                coro = task.get_coro()
                try:
                    if isinstance(coro, Coroutine):
                        coro.close()
                except RuntimeError:
                    continue  # cleanup that wants to wait: nothing is left to wait for
        self._soon.clear()
        self._later.clear()
        # A cancelled task keeps its exception, and with the frames in it the whole world, where the
        # collector does not look.
        self.tasks.clear()
        self.close()
