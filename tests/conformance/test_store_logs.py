"""The logs of a run as one stream, over every store: in order, bounded, and each entry once."""

from typing import Any

import pytest

from tests.conformance.rows import OTHER, RUN, a_run, an_attempt, make
from windlass.engine.engine import Engine
from windlass.model.log_marks import LogMark, kept_marks, result_marks
from windlass.model.rows import LogChunk
from windlass.model.states import AttemptState
from windlass.ports.store import Store
from windlass.protocol.logs_api import LogPage
from windlass.server.log_cursor import FIRST, LAST, RESULT, LogCursor, read_cursor
from windlass.server.log_stream import LogReader, Wanted

pytestmark = pytest.mark.anyio
A, B = f"{RUN}~a.1@1", f"{RUN}~b.1@1"


def said(attempt: str, number: int, text: str, at: int, channel: str = "log") -> LogChunk:
    run_id = attempt.partition("~")[0]
    return LogChunk(
        attempt_id=attempt, number=number, run_id=run_id, channel=channel, text=text, at=at
    )


async def read(
    store: Store, cursor: str | LogCursor | None = None, limit: int = 100, **wanted: Any
) -> LogPage:
    meant = Wanted(low=f"{RUN}~", high=f"{RUN}\x7f", channels=("stdout", "log"), **wanted)
    at = read_cursor(cursor) if isinstance(cursor, str) else cursor or LogCursor(FIRST, 0)
    return await LogReader(Engine(store, name="reader"), RUN, meant, at).page(limit)


def texts(page: LogPage) -> list[str]:
    return [item.text for item in page.items]


async def test_entries_stand_in_the_order_of_their_time_and_only_of_one_run(store: Store) -> None:
    other = f"{OTHER}~a.1@1"
    await make(store, a_run(), a_run(OTHER))
    await make(store, said(B, 0, "second", 20), said(A, 0, "first\nof two", 10))
    await make(store, said(A, 12, "\nthird", 30), said(other, 0, "no", 15))
    await make(store, said(A, -1, "{}", 12, "progress"), said(A, 99, "printed", 40, "stdout"))
    page = await read(store)
    assert texts(page) == ["first", "of two", "second", "third", "printed"]
    assert [item.at for item in page.items] == [10, 10, 20, 30, 40]
    assert [item.task for item in page.items][:3] == [f"{RUN}~a.1", f"{RUN}~a.1", f"{RUN}~b.1"]
    assert page.next is None


async def test_what_comes_with_a_result_is_told_from_where_the_last_chunk_ends(
    store: Store,
) -> None:
    ended: dict[str, Any] = {"state": AttemptState.SUCCEEDED, "finished_at": 50}
    await make(store, a_run(), an_attempt(f"{RUN}~a.1", log="one\ntwo\nthree", **ended))
    await make(store, an_attempt(f"{RUN}~b.1", log="whole\nand new", **ended))
    marks = kept_marks([LogMark(4, 3, "warning"), LogMark(8, 5, "error")], 13)
    await make(store, said(A, 0, "one", 10), said(A, 3, "\ntwo", 20), result_marks(A, marks, 50))
    await make(store, said(B, 0, "something else", 10))
    page = await read(store)
    told = [(item.at, item.text, item.level) for item in page.items]
    assert told == [
        (10, "one", None),
        (10, "something else", None),
        (20, "two", None),
        (50, "three", "error"),
        (50, "whole", None),
        (50, "and new", None),
    ]


async def test_pages_of_any_size_give_the_same_entries_in_both_directions(store: Store) -> None:
    lines = [f"{attempt[-5]}{n}\nx{n}" for n in range(90) for attempt in (A, B)]
    chunks = [
        said(A if line[0] == "a" else B, at, f"{line}\n", 10 + at // 3)
        for at, line in enumerate(lines)
    ]
    await make(store, a_run())
    await make(store, *chunks)
    whole = (await read(store, limit=1000)).items
    assert len(whole) == 360
    for size in (1, 7, 250):
        found, cursor = list[Any](), None
        while True:
            page = await read(store, cursor, size)
            assert len(page.items) <= size
            found += page.items
            cursor = page.next
            if cursor is None:
                break
        assert found == whole
        back = LogCursor(LAST, RESULT, {}, backwards=True)
        found, cursor = [], None
        while True:
            page = await read(store, cursor or back, size)
            found = page.items + found
            cursor = page.next
            if cursor is None:
                break
        assert found == whole


async def test_who_follows_gets_what_appears_late_and_nothing_twice(store: Store) -> None:
    await make(store, a_run())
    now = store.now()
    await make(store, said(A, 0, "one", now - 3000), said(B, 0, "two", now - 1000))
    first = await read(store)
    assert texts(first) == ["one", "two"]
    # Both were said before what was read already: one by another attempt, one by the same.
    late = f"{RUN}~c.1@1"
    await make(store, said(late, 0, "late", now - 2000), said(A, 3, "\nthree", now - 1500))
    second = await read(store, first.position)
    assert texts(second) == ["late", "three"]
    assert texts(await read(store, second.position)) == []
    newest = await read(store, LogCursor(LAST, RESULT, {}, backwards=True), 1)
    assert texts(newest) == ["two"]
    assert texts(await read(store, newest.position)) == []


async def test_a_page_is_bounded_whatever_lies_in_it(store: Store) -> None:
    await make(store, a_run())
    big = "x" * 99 + "\n"
    chunks = [said(A, n * 60_000, big * 600, 10 + n) for n in range(20)]
    await make(store, *chunks, said(A, 2_000_000, "needle", 900))
    page = await read(store, limit=100_000)
    assert sum(len(item.text) for item in page.items) <= 256_000 + 100
    assert page.next is not None
    assert texts(await read(store, text="needle")) == ["needle"]


async def test_a_filter_that_finds_little_goes_on_with_the_next_page(store: Store) -> None:
    await make(store, a_run())
    chunks = [said(A, n * 900_000, "x" * 900_000, 10 + n) for n in range(8)]
    await make(store, *chunks, said(A, 90_000_000, "needle", 900))
    first = await read(store, text="needle")
    assert texts(first) == []
    assert first.next is not None
    assert texts(await read(store, first.next, text="needle")) == ["needle"]
