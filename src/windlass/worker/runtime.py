"""Runs handlers: async ones on the loop, sync ones in threads, each under its limits.

A call ends in exactly one outcome, handed to `done` on the loop, whatever the handler does. Pull
and push differ only in where calls come from and where outcomes go.
"""

import asyncio
import contextvars
import logging
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from windlass.worker.answers import Asked, brief_in
from windlass.worker.context import Context, Stop
from windlass.worker.errors import PermanentError
from windlass.worker.outcome import Outcome, failed, returned, stopped
from windlass.worker.registry import Service, Worker

log = logging.getLogger(__name__)

Done = Callable[["Call", Outcome], None]


@dataclass(frozen=True, slots=True)
class Call:
    """One attempt to run."""

    service: str
    context: Context
    input: Any = None
    timeout_ms: int = 0
    token: str | int = ""


class Runtime:
    """Executes calls with bounded concurrency. Belongs to one event loop."""

    def __init__(self, worker: Worker, concurrency: int) -> None:
        self._worker = worker
        self._concurrency = concurrency
        self._threads = ThreadPoolExecutor(concurrency, thread_name_prefix="service")
        self._bounds = worker.caps
        self._limits = {name: asyncio.Semaphore(bound) for name, bound in self._bounds.items()}
        self._running: dict[asyncio.Task[None], Call] = {}
        self._loop = asyncio.get_running_loop()

    @property
    def load(self) -> int:
        """How many calls are under way."""
        return len(self._running)

    @property
    def free(self) -> int:
        return max(0, self._concurrency - len(self._running))

    @property
    def services(self) -> list[str]:
        return list(self._worker.services)

    @property
    def room(self) -> dict[str, int]:
        """Of each service with a bound of its own, how many calls it could begin now."""
        if not self._bounds:
            return {}
        calls = Counter(call.service for call in self._running.values())
        return {name: max(0, bound - calls[name]) for name, bound in self._bounds.items()}

    @property
    def calls(self) -> list[Call]:
        return list(self._running.values())

    def start(self, call: Call, done: Done) -> None:
        """Run a call in the background; `done` gets its outcome."""
        task = self._loop.create_task(self._run(call, done))
        self._running[task] = call

    def close(self) -> None:
        """Let the threads go; one that is stuck in a handler ends with the process."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _run(self, call: Call, done: Done) -> None:
        task = asyncio.current_task()
        assert task is not None
        try:
            outcome = await self._outcome(call, task)
        finally:
            call.context.on_stop(None)
            self._running.pop(task, None)
        done(call, outcome)

    async def _outcome(self, call: Call, task: asyncio.Task[None]) -> Outcome:
        service = self._worker.services.get(call.service)
        if service is None:
            return failed(PermanentError(f'no service "{call.service}" here'), call.context)
        if service.is_async:
            # A stop may come from any thread, but a task is cancelled on its own loop.
            call.context.on_stop(lambda: self._loop.call_soon_threadsafe(task.cancel))
        try:
            limit = self._limits.get(call.service)
            if limit is None:
                return returned(await self._invoke(service, call), call.context)
            async with limit:
                return returned(await self._invoke(service, call), call.context)
        except asyncio.CancelledError as error:
            if call.context.cancelled:
                return stopped(call.context)
            if task.cancelling():
                raise  # the loop itself is ending
            return failed(error, call.context)  # the handler let a cancellation of its own escape
        except (Exception, Asked, SystemExit) as error:  # noqa: BLE001  its outcome, and logged there
            return failed(error, call.context)

    async def _invoke(self, service: Service, call: Call) -> Any:
        context = call.context
        context.brief = brief_in(call.input)
        context.check()  # it may have waited for its turn until nobody wants it any more
        args, kwargs = service.binder.arguments(context, call.input, context.params)
        # An attempt's time is its handler's: what it waited for a turn does not count.
        timer = self._time_out(call)
        try:
            if service.is_async:
                return await service.handler(*args, **kwargs)
            variables = contextvars.copy_context()
            return await self._loop.run_in_executor(
                self._threads, lambda: variables.run(service.handler, *args, **kwargs)
            )
        finally:
            if timer is not None:
                timer.cancel()

    def _time_out(self, call: Call) -> asyncio.TimerHandle | None:
        if call.timeout_ms <= 0:
            return None
        return self._loop.call_later(call.timeout_ms / 1000, call.context.stop, Stop.TIMEOUT)
