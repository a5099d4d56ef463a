"""Calls about dead letters: what was given up for good."""

from collections.abc import Sequence
from urllib.parse import quote

import msgspec

from windlass.client.requests import ApiCall, encode
from windlass.client.shapes import DeadLetter, DeadLetterInfo, DeadLettersDone, Page

_AT = "/api/v1/dead-letters"


class LetterFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Which letters are meant; what is empty says nothing."""

    kind: str = ""
    run: str = ""
    flow: str = ""
    name: str = ""
    failure_class: str = ""
    all: bool = False
    """Every letter, where nothing else is said."""


def dead_letters(
    filter_: LetterFilter | None = None, *, limit: int = 50, cursor: str | int = ""
) -> ApiCall[Page[DeadLetterInfo]]:
    """What was given up for good, of the newest runs first."""
    given = filter_ or LetterFilter()
    named = {"kind": given.kind, "run": given.run, "flow": given.flow, "name": given.name}
    named |= {"class": given.failure_class, "cursor": str(cursor)}
    query: dict[str, str | int] = {key: value for key, value in named.items() if value}
    return ApiCall("GET", _AT, Page[DeadLetterInfo], {"limit": limit, **query})


def dead_letter(letter_id: str) -> ApiCall[DeadLetter]:
    return ApiCall("GET", f"{_AT}/{quote(letter_id, safe='')}", DeadLetter)


def replay_dead_letters(
    ids: Sequence[str] = (),
    filter_: LetterFilter | None = None,
    *,
    from_: bool = False,
    cursor: str = "",
    before: int | None = None,
    dry_run: bool = False,
) -> ApiCall[DeadLettersDone]:
    """Take up again what is dead: those named, or the next 500 that meet a filter."""
    body = {**_body(ids, filter_, cursor, before), "from": from_, "dryRun": dry_run}
    return ApiCall("POST", f"{_AT}/replay", DeadLettersDone, body=encode(body))


def drop_dead_letters(
    ids: Sequence[str] = (),
    filter_: LetterFilter | None = None,
    *,
    cursor: str = "",
    before: int | None = None,
    dry_run: bool = False,
) -> ApiCall[DeadLettersDone]:
    """Let dead letters go: those named, or the next 500 that meet a filter."""
    body = {**_body(ids, filter_, cursor, before), "dryRun": dry_run}
    return ApiCall("POST", f"{_AT}/drop", DeadLettersDone, body=encode(body))


def _body(
    ids: Sequence[str], filter_: LetterFilter | None, cursor: str, before: int | None
) -> dict[str, object]:
    given = filter_ or LetterFilter()
    return {
        "ids": list(ids),
        "kind": given.kind,
        "run": given.run,
        "flow": given.flow,
        "name": given.name,
        "failureClass": given.failure_class,
        "all": given.all,
        "cursor": cursor,
        "before": before,
    }
