"""What a handler tells while it runs: progress, texts, numbers."""

import enum
from collections.abc import Awaitable, Callable, Coroutine, Generator, Iterable
from typing import Any


class Channel(enum.StrEnum):
    """Where a piece of feedback belongs."""

    stdout = "stdout"
    stderr = "stderr"
    log = "log"
    llm = "llm"
    metric = "metric"
    custom = "custom"


class FeedbackChunk:
    """A piece of feedback, for handlers that would rather not write a dict."""

    def __init__(self, channel: Channel | str = Channel.log, **fields: Any) -> None:
        self.channel = Channel(str(channel))
        self.fields = fields

    def as_dict(self) -> dict[str, Any]:
        found = {key: item for key, item in self.fields.items() if item is not None}
        return {"channel": self.channel.value, **found}


class Sent(Coroutine[Any, Any, None]):
    """What sending gives: it has happened, and may be awaited to wait for room.

    A coroutine in all but name, since handlers make tasks of it; one that nobody awaits is fine.
    """

    def __init__(self, drained: Callable[[], Awaitable[None]] | None) -> None:
        self._drained = drained
        self._steps: Generator[Any, Any, None] | None = None

    def __await__(self) -> Generator[Any, Any, None]:
        if self._drained is not None:
            yield from self._drained().__await__()

    def send(self, value: Any) -> Any:
        if self._steps is None:
            self._steps = self.__await__()
        return self._steps.send(value)

    def throw(self, *error: Any) -> Any:
        if self._steps is None:
            self._steps = self.__await__()
        return self._steps.throw(*error)

    def close(self) -> None:
        if self._steps is not None:
            self._steps.close()


class FeedbackPublisher:
    """Sends feedback of one call; any thread may use it, and none has to await."""

    def __init__(
        self,
        post: Callable[[dict[str, Any]], None],
        drained: Callable[[], Callable[[], Awaitable[None]] | None],
    ) -> None:
        self._post = post
        self._drained = drained

    def send(
        self,
        *,
        stage: str | None = None,
        progress: float | None = None,
        message: str | None = None,
        chunks: Iterable[FeedbackChunk | dict[str, Any]] | None = None,
        metrics: dict[str, float] | None = None,
        metadata: dict[str, Any] | None = None,
    ) -> Sent:
        """Send a frame of feedback; awaiting it waits while the worker cannot keep up."""
        body = {
            "stage": stage,
            "progress": None if progress is None else min(1.0, max(0.0, float(progress))),
            "message": message,
            "chunks": [_chunk(chunk) for chunk in chunks] if chunks else None,
            "metrics": metrics,
            "metadata": metadata,
        }
        self._post({key: item for key, item in body.items() if item is not None})
        return Sent(self._drained())

    def send_nowait(self, **fields: Any) -> Sent:
        """The same as `send`, for code that reads better so."""
        return self.send(**fields)

    def emit_text(
        self,
        text: str,
        *,
        channel: Channel | str = Channel.log,
        stage: str | None = None,
        progress: float | None = None,
        metadata: dict[str, Any] | None = None,
    ) -> Sent:
        """Send one piece of text."""
        chunk = FeedbackChunk(channel, text=text, metadata=metadata)
        return self.send(stage=stage, progress=progress, chunks=[chunk])


def _chunk(chunk: FeedbackChunk | dict[str, Any]) -> dict[str, Any]:
    if isinstance(chunk, FeedbackChunk):
        return chunk.as_dict()
    return FeedbackChunk(chunk.get("channel", Channel.log), **_rest(chunk)).as_dict()


def _rest(chunk: dict[str, Any]) -> dict[str, Any]:
    return {key: item for key, item in chunk.items() if key != "channel"}
