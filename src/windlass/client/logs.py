"""The logs of a run: what to ask and what the answer is, as in `calls`."""

from windlass.client.paths import listing, run_path
from windlass.client.requests import ApiCall
from windlass.client.shapes import Listed, Shape


class LogEntry(Shape, frozen=True, kw_only=True):
    """What an attempt said."""

    at: int
    level: str | None = None
    """How serious it is, if the worker said so."""
    guess: str | None = None
    """What a text without a level reads like: `warning` or `error`."""
    task: str
    attempt: int
    channel: str = ""
    text: str


class LogPage(Listed[LogEntry], frozen=True, kw_only=True):
    """Part of a run's logs, oldest first; `next` is the cursor of the rest, if there is more now,
    and `position` that of what comes later."""

    next: str | None = None
    position: str | None = None


def logs(
    run_id: str,
    *,
    task: str = "",
    attempt: str | int = "",
    level: str = "",
    q: str = "",
    limit: int = 500,
    cursor: str = "",
    wait_ms: int = 0,
) -> ApiCall[LogPage]:
    """What the attempts of a run said, in the order of time: of one task by its id, of the attempts
    with a number or of one by its id, at least so serious, with a text in it. With `wait_ms` the
    server answers when there is something, the run has ended, or that time is over."""
    query = listing(limit, cursor, task=task, attempt=str(attempt), level=level, q=q)
    if wait_ms:
        query["waitMs"] = wait_ms
    path = f"{run_path(run_id)}/logs"
    return ApiCall("GET", path, LogPage, query, wait_s=wait_ms / 1000)
