"""Dead letters: listed, shown, replayed and dropped, one by one or by filter."""

from collections.abc import Sequence

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from windlass.engine import dead_letters
from windlass.engine.dead_letters import Filter, Refused
from windlass.model.access import Audit
from windlass.model.dead_letters import DeadLetter
from windlass.model.errors import BadRequest
from windlass.ports.store import Cond
from windlass.protocol.api import Page
from windlass.protocol.dead_letters_api import (
    DeadLetterDetail,
    DeadLetterRefused,
    DeadLettersBody,
    DeadLettersDone,
    DeadLetterTry,
    DeadLetterView,
)
from windlass.server.audit import line
from windlass.server.caller import engine_of
from windlass.server.http import number_of, read_json, reply
from windlass.server.paging import fetch_page
from windlass.server.routes import Route

_AT_ONCE = 500


async def list_letters(request: Request) -> Response:
    """Dead letters, those of the newest runs first."""
    given = request.query_params
    before = given.get("before", "")
    if before and number_of(before) is None:
        raise BadRequest(f'before="{before:.40}" is no time in unix milliseconds')
    filter_ = Filter(
        given.get("kind", ""),
        given.get("run", ""),
        given.get("flow", ""),
        given.get("name", ""),
        given.get("class", ""),
        number_of(before),
    )
    rows, next_ = await fetch_page(request, DeadLetter, filter_.conditions())
    return reply(Page(items=[letter_view(row) for row in rows], next=next_))


def letter_view(row: DeadLetter) -> DeadLetterView:
    return DeadLetterView(
        id=row.id,
        kind=row.kind,
        run_id=row.run_id,
        flow=row.flow_name,
        name=row.name,
        failure_class=row.failure_class,
        message=row.message,
        tries=row.tries,
        died_at=row.died_at,
    )


async def get_letter(request: Request) -> Response:
    """One dead letter, with its history and what can be done."""
    engine = engine_of(request)
    row = await dead_letters.get_letter(engine, request.path_params["id"])
    move = await dead_letters.next_move(engine, row)
    tries = await dead_letters.history(engine, row)
    return reply(
        DeadLetterDetail(
            **msgspec.structs.asdict(letter_view(row)),
            history=[
                DeadLetterTry(
                    number=t.number,
                    at=t.at,
                    by=t.by,
                    failure_class=t.failure_class,
                    message=t.message,
                )
                for t in tries
            ],
            next_move=move.code,
            advice=move.text,
        )
    )


async def replay(request: Request) -> Response:
    """Take up again what is dead: tasks are retried, effects put back."""
    body = await read_json(request, DeadLettersBody)
    before, rows, next_ = await meant(request, body)
    refused: Sequence[Refused] = ()
    if not body.dry_run:

        def noting(letter: DeadLetter) -> Audit:
            return line(request, "dead.replay", letter.kind, letter.id, run=letter.run_id)

        refused = await dead_letters.replay(
            engine_of(request), rows, noting, descendants=body.from_
        )
    return done(body, before, rows, next_, refused)


async def drop(request: Request) -> Response:
    """Let dead letters go: a task stays failed, an effect is never done."""
    body = await read_json(request, DeadLettersBody)
    before, rows, next_ = await meant(request, body)
    if rows and not body.dry_run:
        ids = [row.id for row in rows]
        noted = line(request, "dead.drop", "dead_letter", ids[0], count=len(ids), ids=ids)
        await dead_letters.drop(engine_of(request), rows, noted)
    return done(body, before, rows, next_, ())


async def meant(
    request: Request, body: DeadLettersBody
) -> tuple[int, list[DeadLetter], str | None]:
    """The letters a body means, so many at once, and where to go on."""
    engine = engine_of(request)
    before = engine.store.now() if body.before is None else body.before
    if body.ids:
        async with engine.store.session() as session:
            return before, await session.rows(DeadLetter, list(dict.fromkeys(body.ids))), None
    filter_ = Filter(body.kind, body.run, body.flow, body.name, body.failure_class)
    where = filter_.conditions()
    if not where and body.before is None and not body.all:
        raise BadRequest("say which letters are meant: by ids, by a filter, or all of them")
    where.append(Cond("died_at", "<=", before))
    if body.cursor:
        where.append(Cond("id", "<", body.cursor))
    rows = await engine.store.page(DeadLetter, where, descending=True, limit=_AT_ONCE + 1)
    more = len(rows) > _AT_ONCE
    rows = rows[:_AT_ONCE]
    return before, rows, rows[-1].id if more else None


def done(
    body: DeadLettersBody,
    before: int,
    rows: Sequence[DeadLetter],
    next_: str | None,
    refused: Sequence[Refused],
) -> Response:
    view = DeadLettersDone(
        matched=len(rows),
        done=0 if body.dry_run else len(rows) - len(refused),
        refused=[DeadLetterRefused(id=one.id, detail=one.reason) for one in refused],
        next=next_,
        before=before,
    )
    return reply(view, 200 if body.dry_run else 202)


_AT = "/api/v1/dead-letters"
ROUTES = [
    Route(
        "GET",
        _AT,
        list_letters,
        gives=Page[DeadLetterView],
        query=("kind", "run", "flow", "name", "class", "before", "limit", "cursor"),
    ),
    Route("GET", _AT + "/{id}", get_letter, gives=DeadLetterDetail),
    Route(
        "POST",
        f"{_AT}/replay",
        replay,
        "operator",
        DeadLettersBody,
        DeadLettersDone,
        202,
        control=True,
    ),
    Route("POST", f"{_AT}/drop", drop, "operator", DeadLettersBody, DeadLettersDone, 202),
]
