"""Long polls: waiting for work as long as the caller does, and no longer than the server lives."""

import asyncio
import time
from collections import defaultdict
from collections.abc import Generator, Sequence
from contextlib import contextmanager

from starlette.requests import Request

from windlass.engine.attempts import Attempts
from windlass.engine.feed import Feed
from windlass.model.assignment import Assignment
from windlass.ports.work import Waiting
from windlass.server.auth import check_again
from windlass.server.context import context_of
from windlass.server.http import said_already

_LONG_S = 2.0
"""After how long it is asked again whether the caller may have work."""


async def wait_for_news(request: Request, heard: asyncio.Event, wait_s: float) -> None:
    """Wait until there is something to tell the caller, or they have hung up."""
    waits = [
        asyncio.ensure_future(heard.wait()),
        asyncio.ensure_future(hung_up(request)),
        asyncio.ensure_future(context_of(request).stopping.wait()),
    ]
    try:
        await asyncio.wait(waits, timeout=wait_s, return_when="FIRST_COMPLETED")
    finally:
        for wait in waits:
            wait.cancel()


async def wait_for_work(
    request: Request,
    attempts: Attempts,
    waiting: Waiting,
    wait_s: float,
    heard: asyncio.Event | None = None,
) -> Sequence[Assignment]:
    """What the demand is given within the time, or until something else is `heard`; taken back if
    the caller has hung up meanwhile, or may not have it any more."""
    began = time.monotonic()
    try:
        if wait_s > 0 and not waiting.given:
            await _given_or_over(request, waiting, wait_s, heard)
        if not waiting.given and not is_gone(request):
            await waiting.leave()
    finally:
        found: Sequence[Assignment] = waiting.withdraw()
        task = asyncio.current_task()
        if found and (is_gone(request) or (task is not None and task.cancelling())):
            for assignment in found:
                attempts.give_back(assignment.attempt_id)
            found = []
    if found and time.monotonic() - began > _LONG_S:
        try:
            await check_again(request)
        except BaseException:
            for assignment in found:
                attempts.give_back(assignment.attempt_id)
            raise
    return found


async def _given_or_over(
    request: Request, waiting: Waiting, wait_s: float, heard: asyncio.Event | None
) -> None:
    waits = [
        asyncio.ensure_future(waiting.assignments()),
        asyncio.ensure_future(hung_up(request)),
        asyncio.ensure_future(context_of(request).stopping.wait()),
    ]
    if heard is not None:
        waits.append(asyncio.ensure_future(heard.wait()))
    try:
        await asyncio.wait(waits, timeout=wait_s, return_when="FIRST_COMPLETED")
    finally:
        for wait in waits:
            wait.cancel()


def is_gone(request: Request) -> bool:
    """Whether the caller has closed the connection already; its body has been read before."""
    message = said_already(request)
    return message is not None and message["type"] == "http.disconnect"


async def hung_up(request: Request) -> None:
    """Return once the caller has closed the connection; its body has been read before."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


class StopListener:
    """Attempts of one worker that were asked to stop, or taken away, while somebody listened."""

    def __init__(self) -> None:
        self.heard = asyncio.Event()
        self.attempts: list[str] = []


class Stops:
    """Lets a worker that waits for work hear at once that it should stop some."""

    def __init__(self, feed: Feed) -> None:
        self._listening: defaultdict[str, set[StopListener]] = defaultdict(set)
        feed.on_stop.append(self._stopped)

    def _stopped(self, attempt_id: str, worker_id: str) -> None:
        for listener in self._listening.get(worker_id, ()):
            listener.attempts.append(attempt_id)
            listener.heard.set()

    @contextmanager
    def listen(self, worker_id: str) -> Generator[StopListener]:
        listener = StopListener()
        self._listening[worker_id].add(listener)
        try:
            yield listener
        finally:
            self._listening[worker_id].discard(listener)
            if not self._listening[worker_id]:
                del self._listening[worker_id]
