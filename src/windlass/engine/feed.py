"""The feed: tells whoever waits inside this process what has just been committed."""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Collection, Generator, Iterable
from contextlib import contextmanager
from typing import Generic, TypeVar, cast

from windlass.engine.notices import stopped, talking
from windlass.model.ids import run_of
from windlass.model.rows import Event, Run, Task, Timer
from windlass.model.states import RUN_ENDED, TASK_ENDED
from windlass.ports.store import Writes

R = TypeVar("R", Run, Task)

EVERY_RUN = ""


class Ends(Generic[R]):
    """Those who wait for rows to end."""

    def __init__(self) -> None:
        self._waiters: defaultdict[str, set[asyncio.Future[R | None]]] = defaultdict(set)

    def expect(self, id_: str) -> "asyncio.Future[R | None]":
        """Resolved with the row when it ends in this process, or with None when its run moved in
        another one, so that it is time to look; cancel it to give up."""
        waiter: asyncio.Future[R | None] = asyncio.get_running_loop().create_future()
        self._waiters[id_].add(waiter)
        waiter.add_done_callback(lambda done: self._forget(id_, done))
        return waiter

    def tell(self, id_: str, row: R | None) -> None:
        for waiter in self._waiters.pop(id_, ()):
            if not waiter.done():
                waiter.set_result(row)

    def look(self, moved: Callable[[str], bool]) -> None:
        """Those who wait for something of a run that moved elsewhere should look."""
        for id_ in [id_ for id_ in self._waiters if moved(id_)]:
            self.tell(id_, None)

    def _forget(self, id_: str, waiter: "asyncio.Future[R | None]") -> None:
        waiters = self._waiters.get(id_)
        if waiters is not None:
            waiters.discard(waiter)
            if not waiters:
                del self._waiters[id_]

    def __bool__(self) -> bool:
        return bool(self._waiters)


class Watchers:
    """Those who want to know whenever something is new of a run."""

    def __init__(self) -> None:
        self._events: defaultdict[str, set[asyncio.Event]] = defaultdict(set)

    @contextmanager
    def watching(self, run_id: str, heard: asyncio.Event) -> Generator[None]:
        """Set the event whenever there is something new, here or elsewhere; for `EVERY_RUN`, when
        there is of any run elsewhere."""
        self._events[run_id].add(heard)
        try:
            yield
        finally:
            self._events[run_id].discard(heard)
            if not self._events[run_id]:
                del self._events[run_id]

    def wake(self, run_ids: Iterable[str]) -> None:
        for run_id in run_ids:
            for heard in self._events.get(run_id, ()):
                heard.set()

    def wake_all(self) -> None:
        self.wake(list(self._events))


class Feed:
    """Wake-ups by run, by attempt and for timers. Losing one costs time, never correctness."""

    def __init__(self) -> None:
        self.runs = Watchers()
        """Of runs that move."""
        self.logs = Watchers()
        """Of what attempts of runs log while they run."""
        self.on_logs: list[Callable[[Collection[str]], None]] = []
        """Told which runs have logged something, whichever process kept it."""
        self.run_ends: Ends[Run] = Ends()
        self.task_ends: Ends[Task] = Ends()
        self.timers = asyncio.Event()
        self.timers_due_at: int | None = None
        """When the earliest timer is due that the timer loop has not been told about."""
        self.on_stop: list[Callable[[str, str], None]] = []
        """Told of attempts that were asked to stop or lost their task, and of their workers,
        whichever process decided that."""
        self.on_mail: list[Callable[[], None]] = []
        """Told when another process left an effect to be done."""
        self.on_workers: list[Callable[[Collection[str] | None], None]] = []
        """Told which workers of the link began a session on another server; None: any may have."""
        self.counts: dict[str, int] = {}

    def committed(self, writes: Writes) -> None:
        for event in writes.made.get(Event, {}).values():
            kind = cast(Event, event).type
            self.counts[kind] = self.counts.get(kind, 0) + 1
        for table in (writes.made, writes.changed):
            moved = cast("dict[str, Run]", table.get(Run, {}))
            self.runs.wake(moved)
            for run in moved.values():
                if run.state in RUN_ENDED:
                    self.run_ends.tell(run.id, run)
        if self.task_ends:
            for task in cast("dict[str, Task]", writes.changed.get(Task, {})).values():
                if task.state in TASK_ENDED:
                    self.task_ends.tell(task.id, task)
        self._note_timers(writes)
        self._note_stops(writes)
        self.logged(talking(writes))

    def _note_timers(self, writes: Writes) -> None:
        timers = cast("dict[str, Timer]", writes.made.get(Timer, {}))
        if timers:
            due_at = min(timer.due_at for timer in timers.values())
            if self.timers_due_at is None or due_at < self.timers_due_at:
                self.timers_due_at = due_at
                self.timers.set()

    def _note_stops(self, writes: Writes) -> None:
        for attempt in stopped(writes):
            self.stop(attempt.id, attempt.worker_id)

    def stop(self, attempt_id: str, worker_id: str) -> None:
        for tell in self.on_stop:
            tell(attempt_id, worker_id)

    def logged(self, run_ids: Collection[str]) -> None:
        """Attempts of these runs have logged something, here or elsewhere."""
        if run_ids:
            self.logs.wake(run_ids)
            for tell in self.on_logs:
                tell(run_ids)

    def mail(self) -> None:
        for tell in self.on_mail:
            tell()

    def connected_elsewhere(self, worker_ids: Collection[str] | None) -> None:
        for tell in self.on_workers:
            tell(worker_ids)

    def moved_elsewhere(self, run_ids: Collection[str]) -> None:
        """Another process moved these runs: whoever watches one of them, or all, looks again."""
        if not run_ids:
            return
        self.runs.wake((*run_ids, EVERY_RUN))
        for ends in (self.run_ends, self.task_ends):
            if ends:
                ends.look(lambda id_: run_of(id_) in run_ids)

    def wake_all(self) -> None:
        """Another process committed something: everybody looks again."""
        self.runs.wake_all()
        self.logs.wake_all()
        for ends in (self.run_ends, self.task_ends):
            ends.look(lambda id_: True)
        self.timers.set()
