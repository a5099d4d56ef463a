"""What attempts of a run said, as one stream."""

import asyncio
import time
from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import Response

from windlass.engine import runs
from windlass.model.errors import BadRequest
from windlass.model.log_marks import LEVELS
from windlass.model.rows import Run
from windlass.model.states import RUN_ENDED
from windlass.protocol.logs_api import LogPage
from windlass.server.api.runs import find
from windlass.server.caller import engine_of
from windlass.server.context import context_of
from windlass.server.http import number_of, page_limit, reply, whole_number
from windlass.server.log_cursor import FIRST, LAST, RESULT, LogCursor, read_cursor
from windlass.server.log_stream import LogReader, Wanted
from windlass.server.log_texts import CHANNELS
from windlass.server.routes import Route
from windlass.server.waiting import wait_for_news

_QUERY = ("task", "attempt", "level", "q", "channel", "order", "limit", "cursor", "waitMs")
_WAIT_MS_MAX = 60_000
_GATHER_S = 0.1
"""Between two looks for somebody who waits: much is said in small pieces."""
_TEXT_CHARS_MAX = 500
_ID_CHARS_MAX = 2_000
_ORDERS = ("oldest", "newest")


async def list_logs(request: Request) -> Response:
    """What the attempts of a run said, in the order of time.

    Where a filter finds little, a page may have few entries, or none, and still a `next`. With
    `order=newest`, the first page is the end; the entries of each stand oldest first either way.
    `waitMs` waits so long for an entry where there is none yet and the run has not ended.
    """
    run = await find(request)
    for name in request.query_params:
        if name not in _QUERY:
            raise BadRequest(f'logs have no filter "{name:.40}"; there are {", ".join(_QUERY)}')
    wanted = wanted_in(request, run)
    cursor = cursor_in(request)
    limit = page_limit(request, 200, 1000)
    wait_ms = whole_number(request, "waitMs", 0, _WAIT_MS_MAX)
    if wait_ms and cursor.backwards:
        raise BadRequest("waitMs goes with order=oldest: what is to come is the newest")

    async def read() -> LogPage:
        await context_of(request).link.feedback.flush()
        return await LogReader(engine_of(request), run.id, wanted, cursor).page(limit)

    return reply(await (first_entries(request, run.id, read, wait_ms) if wait_ms else read()))


async def first_entries(
    request: Request, run_id: str, read: Callable[[], Awaitable[LogPage]], wait_ms: int
) -> LogPage:
    """A page as soon as it has entries, or the run has ended, or the time is over."""
    engine = engine_of(request)
    until = time.monotonic() + wait_ms / 1000
    heard = asyncio.Event()
    with engine.feed.runs.watching(run_id, heard), engine.feed.logs.watching(run_id, heard):
        while True:
            heard.clear()
            # Before the page: what an attempt said at its end is then in it.
            over = (await runs.get_run(engine, run_id)).state in RUN_ENDED
            page = await read()
            left_s = until - time.monotonic()
            is_leaving = await request.is_disconnected() or context_of(request).stopping.is_set()
            if page.items or page.next or over or left_s <= 0 or is_leaving:
                return page
            # A notice may be lost, so it looks now and then without one.
            await wait_for_news(request, heard, min(left_s, engine.settings.look_s))
            await asyncio.sleep(_GATHER_S)


def wanted_in(request: Request, run: Run) -> Wanted:
    asked = request.query_params.get
    level, text, channel = asked("level", ""), asked("q", "").lower(), asked("channel", "")
    if level and level not in LEVELS:
        raise BadRequest(f'no level "{level:.40}"; there are {", ".join(LEVELS)}')
    if len(text) > _TEXT_CHARS_MAX:
        raise BadRequest(f"q has at most {_TEXT_CHARS_MAX} characters")
    if "\0" in channel:
        raise BadRequest("a channel has no NUL in its name")
    low, high, number = attempts_in(run, asked("task", ""), asked("attempt", ""))
    return Wanted(
        low=low,
        high=high,
        number=number,
        level=level,
        text=text,
        channels=(channel,) if channel else CHANNELS,
    )


def attempts_in(run: Run, task: str, attempt: str) -> tuple[str, str, int | None]:
    """The first and the last id of attempts that are asked for, and their number if that is."""
    for given in (task, attempt):
        if len(given) > _ID_CHARS_MAX or "\0" in given:
            raise BadRequest(f'"{given:.40}" is the id of no task or attempt')
    if task and not task.startswith(f"{run.id}~"):
        raise BadRequest(f"task names one of run {run.id}: see /runs/{{id}}/tasks")
    if "@" in attempt:
        if not attempt.startswith(f"{task}@" if task else f"{run.id}~"):
            raise BadRequest(f"attempt names one of run {run.id}: see /runs/{{id}}/attempts")
        return attempt, attempt, None
    number = number_of(attempt) if attempt else None
    if attempt and (number is None or number < 1):
        raise BadRequest(f'attempt="{attempt:.40}" is neither a number nor an id')
    if task and number:
        return f"{task}@{number}", f"{task}@{number}", None
    if task:
        return f"{task}@", f"{task}@\x7f", None
    return f"{run.id}~", f"{run.id}\x7f", number


def cursor_in(request: Request) -> LogCursor:
    order = request.query_params.get("order") or "oldest"
    if order not in _ORDERS:
        raise BadRequest(f'order="{order:.40}" is neither {" nor ".join(_ORDERS)}')
    backwards = order == "newest"
    text = request.query_params.get("cursor")
    if not text:
        return LogCursor(LAST, RESULT, {}, backwards=True) if backwards else LogCursor(FIRST, 0)
    cursor = read_cursor(text)
    if cursor.backwards != backwards:
        raise BadRequest("cursor is of a page in the other order")
    return cursor


ROUTES = [Route("GET", "/api/v1/runs/{id}/logs", list_logs, gives=LogPage, query=_QUERY)]
