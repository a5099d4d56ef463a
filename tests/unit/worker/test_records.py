"""What handlers log keeps its level, its time and its lines together on the way to the server."""

import logging

import pytest

from windlass.model.log_marks import LogMark, kept_marks, marks_in, read_marks
from windlass.protocol.exchange import SAID_MAX
from windlass.protocol.link import messages as m
from windlass.server.link.feedback import pieces_of
from windlass.worker import Context
from windlass.worker.adapters.host.capture import level_of
from windlass.worker.leases import all_unsaid, unsaid
from windlass.worker.link.live_log import chunk_of


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_what_was_logged_at_about_the_same_time_is_told_in_one_piece_with_its_age() -> None:
    clock = Clock()
    context = Context(attempt_id="r~a.1@1", clock=clock)
    context.log("one")
    context.log("two\nlines")
    clock.now += 1
    context.log("three", level="WARN")
    clock.now += 0.5
    first, second = unsaid(context, "t")
    assert (first.offset, first.text, first.age_ms) == (0, "one\ntwo\nlines", 1500)
    assert first.marks == [LogMark(4, 9, "")]
    assert (second.offset, second.text, second.age_ms) == (13, "\nthree", 500)
    assert second.marks == [LogMark(1, 5, "warning")]
    assert first.text + second.text == context.log_text
    context.told = second.offset + len(second.text)
    assert unsaid(context, "t") == []
    context.log("four")
    [last] = unsaid(context, "t")
    assert last.text == "\nfour"
    assert context.marks == [LogMark(4, 9, ""), LogMark(14, 5, "warning")]


def test_where_many_talk_at_once_each_has_one_piece_so_that_none_waits() -> None:
    clock = Clock()
    contexts = [Context(attempt_id=f"r~{n}@1", clock=clock) for n in range(SAID_MAX // 2)]
    for word in ("one", "two", "three"):
        for context in contexts:
            context.log(word)
        clock.now += 1
    pieces = all_unsaid([(context, "t") for context in contexts])
    assert [piece.text for piece in pieces] == ["one\ntwo\nthree"] * len(contexts)
    assert len(all_unsaid([(context, "t") for context in contexts[:9]])) == 27


def test_a_level_that_there_is_not_is_a_mistake_of_the_handler() -> None:
    with pytest.raises(ValueError, match='no level "loud": there are debug, info'):
        Context().log("x", level="loud")


def test_marks_that_cannot_be_meant_are_left_out() -> None:
    given = [LogMark(0, 3, "error"), LogMark(2, 4, "info"), LogMark(5, 9, ""), LogMark(4, 0, "")]
    assert read_marks(kept_marks([*given, LogMark(6, 2, "loud")], 9)) == [
        LogMark(0, 3, "error"),
        LogMark(6, 2, ""),
    ]
    assert kept_marks([], 9) == ""
    assert marks_in("nonsense") == marks_in(None) == marks_in([["a"]]) == []
    assert marks_in([[0, 3, "error"]]) == [LogMark(0, 3, "error")]


def test_on_the_link_records_that_follow_each_other_are_one_piece_with_their_levels() -> None:
    context = Context()
    context.log("plain")
    context.log("bad\nindeed", level="error")
    chunks = [m.Chunk(**chunk_of(record)) for record in context.records()]
    printed = m.Chunk(channel="stdout", text="printed")
    feedback = m.Feedback(run_id="r", task_id="t", chunks=[*chunks, printed, chunks[0]])
    found = list(pieces_of(feedback))
    assert [(piece.channel, piece.text) for piece in found] == [
        ("log", "plain\nbad\nindeed\n"),
        ("stdout", "printed"),
        ("log", "plain\n"),
    ]
    assert [piece.marks for piece in found] == [[LogMark(6, 10, "error")], [], []]


@pytest.mark.parametrize(
    ("number", "name"),
    [
        (logging.DEBUG, "debug"),
        (5, "debug"),
        (logging.INFO, "info"),
        (25, "info"),
        (logging.WARNING, "warning"),
        (logging.ERROR, "error"),
        (logging.CRITICAL, "critical"),
        (70, "critical"),
    ],
)
def test_a_record_of_pythons_logging_has_the_nearest_level_below(number: int, name: str) -> None:
    assert level_of(number) == name
