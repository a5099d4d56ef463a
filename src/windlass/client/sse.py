"""Following a run's events over connections that come and go."""

import random
import time
from collections.abc import Callable

import msgspec

from windlass.client.shapes import EventInfo, RunInfo

PATIENCE_S = 60.0


class EventReader:
    """Reads server-sent events line by line (the parts of the format that servers use)."""

    def __init__(self) -> None:
        self._id = ""
        self._type = ""
        self._data: list[str] = []

    def feed(self, line: str) -> EventInfo | None:
        """The event that this line completes, if it does."""
        if not line:
            return self._complete()
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        match name:
            case "id":
                self._id = value
            case "event":
                self._type = value
            case "data":
                self._data.append(value)
            case _:
                pass  # a comment keeps the connection alive; other fields are not ours
        return None

    def _complete(self) -> EventInfo | None:
        text, self._data = "\n".join(self._data), []
        type_, self._type = self._type, ""
        if not text or not self._id.isdecimal():
            return None
        seq = int(self._id)
        try:
            event = msgspec.json.decode(text, type=_Body)
        except msgspec.MsgspecError:
            return None
        data = event.data if event.data is not None else {}
        return EventInfo(
            seq=seq, type=event.type or type_, task_id=event.task_id, at=event.at, data=data
        )


class _Body(msgspec.Struct, frozen=True, rename="camel"):
    type: str = ""
    task_id: str | None = None
    at: int = 0
    data: dict[str, object] | None = None


class Follow:
    """Where a reader of a run's events stands, whatever happens to its connections."""

    def __init__(self, after: int = 0, clock: Callable[[], float] = time.monotonic) -> None:
        self.after = after
        self._clock = clock
        self._reader = EventReader()
        self._fresh = False
        self._failing_since: float | None = None
        self._pause_s = 0.25

    @property
    def headers(self) -> dict[str, str]:
        return {"Accept": "text/event-stream", "Last-Event-ID": str(self.after)}

    def opened(self) -> None:
        """A connection is there; half an event of the last one is forgotten."""
        self._reader = EventReader()
        self._fresh = False
        self._failing_since = None

    def feed(self, line: str) -> EventInfo | None:
        """The next event, each only once."""
        event = self._reader.feed(line)
        if event is None or event.seq <= self.after:
            return None
        self.after = event.seq
        self._fresh = True
        self._pause_s = 0.25
        return event

    def exhausted(self, run: RunInfo) -> bool:
        """Whether there is nothing more to come after a connection ended."""
        return run.ended and (self.after >= run.seq or not self._fresh)

    def out_of_patience(self) -> bool:
        """Note that there is no server; whether that has been so for too long."""
        now = self._clock()
        if self._failing_since is None:
            self._failing_since = now
        return now - self._failing_since > PATIENCE_S

    def pause_s(self) -> float:
        pause, self._pause_s = self._pause_s, min(8.0, self._pause_s * 2)
        return pause * random.uniform(0.5, 1.0)
