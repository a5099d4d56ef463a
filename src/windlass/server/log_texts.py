"""Logs of attempts as texts: what was said while they ran, and what came with their results."""

from collections import defaultdict
from collections.abc import Sequence

from starlette.requests import Request

from windlass.model.queues import is_link
from windlass.model.rows import Attempt, LogChunk
from windlass.ports.store import Cond
from windlass.server.caller import engine_of
from windlass.server.context import context_of

CHANNELS = ("stdout", "stderr", "log")
_CHARS_MAX = 64_000
"""How much of one attempt's log stands beside the attempt: its end."""
_CHUNKS_MAX = 5_000


async def log_texts(request: Request, attempts: Sequence[Attempt]) -> dict[str, str]:
    """The logs of some attempts, the end of each; those that run are not left behind."""
    if not attempts:
        return {}
    await context_of(request).link.feedback.flush()
    chunks = await engine_of(request).store.page(
        LogChunk,
        [
            Cond("attempt_id", "in", [attempt.id for attempt in attempts]),
            Cond("channel", "in", CHANNELS),
        ],
        order="number",
        descending=True,
        limit=_CHUNKS_MAX,
    )
    texts: defaultdict[str, list[str]] = defaultdict(list)
    sizes: defaultdict[str, int] = defaultdict(int)
    for chunk in chunks:
        room = _CHARS_MAX - sizes[chunk.attempt_id]
        if room > 0:
            texts[chunk.attempt_id].append(chunk.text[-room:])
            sizes[chunk.attempt_id] += len(chunk.text)
    return {
        attempt_id: ("…" if sizes[attempt_id] > _CHARS_MAX else "") + "".join(reversed(found))
        for attempt_id, found in texts.items()
    }


def whole_log(attempt: Attempt, said: str | None) -> str | None:
    """An attempt's log: what was said while it ran, or all of it once that came with its result.

    Only on the link is what comes with a result said beside what was said before.
    """
    if is_link(attempt.queue):
        return "\n".join(part for part in (said, attempt.log) if part) or None
    return attempt.log or said or None
