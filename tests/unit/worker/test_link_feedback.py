"""Feedback that waits: bounded, in order, the newest kept, and in nobody's way."""

import pytest

from windlass.protocol.link import messages as m
from windlass.worker.link import feedback
from windlass.worker.link.feedback import FeedbackQueue


class Line:
    def __init__(self, room: int = 0) -> None:
        self.room = room
        self.sent: list[m.Feedback] = []
        self.queue = FeedbackQueue(lambda: self.room > 0, self.send)

    def send(self, message: m.Feedback) -> None:
        self.room -= 1
        self.sent.append(message)

    @property
    def words(self) -> list[str | None]:
        return [m.message or (m.chunks[0].text if m.chunks else None) for m in self.sent]


def progress(text: str, task: str = "t@1") -> m.Feedback:
    return m.Feedback(run_id="r", task_id=task, message=text)


def line(text: str, task: str = "t@1") -> m.Feedback:
    return m.Feedback(run_id="r", task_id=task, chunks=[m.Chunk(channel="log", text=text)])


def test_feedback_goes_at_once_where_there_is_room_and_else_in_order() -> None:
    wire = Line(room=1)
    for text in "abcd":
        wire.queue.give(progress(text))
    assert wire.words == ["a"]
    wire.room = 2
    wire.queue.flush()
    assert wire.words == ["a", "b", "c"]


def test_words_on_progress_go_first_and_the_newest_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feedback, "FRAMES_MAX", 3)
    wire = Line()
    for message in (line("1"), progress("a"), line("2"), progress("b"), line("3"), line("4")):
        wire.queue.give(message)
    wire.room = 9
    wire.queue.flush()
    assert wire.words == ["2", "3", "4"]


def test_what_waits_is_bounded_in_bytes_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feedback, "BYTES_MAX", 800)
    wire = Line()
    for text in "abc":
        wire.queue.give(line(text * 400))
    wire.room = 9
    wire.queue.flush()
    assert wire.words == ["c" * 400]


def test_before_a_report_only_its_own_tasks_feedback_goes() -> None:
    wire = Line()
    wire.queue.give(line("mine"))
    wire.queue.give(line("another's", "t@2"))
    wire.queue.give(line("mine too"))
    wire.queue.flush_task("t@1")
    assert wire.words == ["mine", "mine too"]
