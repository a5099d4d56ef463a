"""One client's stream: what waits to be told, and what was told already."""

import asyncio
from collections import OrderedDict, deque
from collections.abc import Mapping
from typing import NamedTuple

from windlass.model.rows import Event, Run, Task
from windlass.model.states import RUN_ENDED
from windlass.protocol.link import messages as m
from windlass.server.compat.astraflow.news import News

EVERYBODY = ""
"""The client of a stream that tells of the runs of all clients."""
QUEUE_MAX = 2_000
RUNS_MAX = 10_000


class OfRun(NamedTuple):
    """An event of a run that was just committed."""

    event: Event
    run: Run
    tasks: Mapping[str, Task]


class Said(NamedTuple):
    """Feedback of a running attempt."""

    attempt_id: str
    feedback: m.Feedback
    at: int


class Moved(NamedTuple):
    """A run that another process moved; what happened is in the database."""

    run: Run


Item = OfRun | Said | Moved | News


class Speaker:
    """An attempt that sends feedback: which node it is of, and how many pieces it has sent."""

    def __init__(self, run_id: str, node: str, revision: int) -> None:
        self.run_id = run_id
        self.node = node
        self.revision = revision
        self.sequence = 0


class Stream:
    """One connected client: what waits to be told, and what it was told of each run."""

    def __init__(self, client: str, queue_max: int = QUEUE_MAX, began_at: int = 0) -> None:
        self.client = client
        self.began_at = began_at
        self.ready = asyncio.Event()
        self.overran = False
        self.seen: OrderedDict[str, int] = OrderedDict()
        self.open: set[str] = set()
        self.attempts: dict[str, Speaker | None] = {}
        self._status: dict[str, str] = {}
        self._queue: deque[Item] = deque()
        self._queue_max = queue_max

    def concerns(self, owner: str) -> bool:
        """Whether the runs of a client are this stream's business."""
        return self.client in (EVERYBODY, owner)

    def put(self, item: Item) -> None:
        """Queue something; a client that does not keep up loses the stream, not events."""
        if len(self._queue) >= self._queue_max:
            self.overran = True
        if not self.overran:
            self._queue.append(item)
        self.ready.set()

    def take(self) -> Item | None:
        return self._queue.popleft() if self._queue else None

    @property
    def idle(self) -> bool:
        return not self._queue

    def told(self, run: Run, seq: int) -> None:
        self.seen[run.id] = max(seq, self.seen.get(run.id, 0))
        self.seen.move_to_end(run.id)
        if run.state in RUN_ENDED:
            self.open.discard(run.id)
        else:
            self.open.add(run.id)
        while len(self.seen) > RUNS_MAX:
            gone, _ = self.seen.popitem(last=False)
            self.open.discard(gone)
            self._status.pop(gone, None)

    def is_over(self, run: Run) -> bool:
        """Whether a run it was not told of ended before it began: others were told of that."""
        known = run.id in self.seen
        return not known and run.state in RUN_ENDED and (run.finished_at or 0) <= self.began_at

    def is_new(self, news: News) -> bool:
        """Whether a status differs from the last: waiting and running are one to this client."""
        if news.type != "run.status":
            return True
        before = self._status.get(news.run_id)
        self._status[news.run_id] = status = str(news.data["status"])
        return status != before
