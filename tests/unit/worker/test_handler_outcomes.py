"""What handlers of packages return, and what it means."""

import asyncio
import dataclasses
import datetime
import json
from pathlib import Path
from typing import Any

import pytest

from windlass.worker.adapters.host.feedback import Channel, FeedbackChunk, FeedbackPublisher
from windlass.worker.adapters.host.frames import FRAME_BYTES_MAX, TooLarge, Unpacker, framed
from windlass.worker.adapters.host.loading import Loader
from windlass.worker.adapters.host.outcomes import raised, returned
from windlass.worker.adapters.host.text import encoded


@pytest.mark.parametrize(
    ("given", "status"),
    [
        (None, "SUCCEEDED"),
        ("succeeded", "SUCCEEDED"),
        ("SUCCESS", "SUCCEEDED"),
        ("ok", "SUCCEEDED"),
        ("done", "SUCCEEDED"),
        ("Blocked", "SUCCEEDED"),
        ("Status.SKIPPED", "SKIPPED"),
        ("skip", "SKIPPED"),
        ("cancel", "CANCELLED"),
        ("canceled", "CANCELLED"),
        ("error", "FAILED"),
        ("fail", "FAILED"),
        ("no idea", "FAILED"),
    ],
)
def test_statuses_have_many_spellings_and_four_meanings(given: object, status: str) -> None:
    outcome = returned({"status": given, "a": 1})
    assert outcome["status"] == status
    assert ("error" in outcome) == (status in ("FAILED", "CANCELLED"))


def test_outputs_are_the_results_if_they_are_there() -> None:
    outcome = returned({"outputs": {"a": 1}, "b": 2, "metadata": {"c": 3}, "artifacts": [{}]})
    assert outcome["result"] == {"a": 1}
    assert (outcome["metadata"], outcome["artifacts"]) == ({"c": 3}, [{}])


def test_without_outputs_everything_else_is() -> None:
    outcome = returned({"status": "ok", "a": 1, "b": None, "metadata": {}, "artifacts": []})
    assert outcome["result"] == {"a": 1, "b": None}
    assert returned({"outputs": [1]})["result"] == {"outputs": [1]}


def test_an_error_lands_in_the_error_and_not_in_the_results() -> None:
    outcome = returned({"status": "failed", "error": "no luck", "tried": 3})
    assert outcome["error"] == {"code": "E.RUNNER.FAILURE", "message": "no luck"}
    assert outcome["result"] == {"tried": 3}
    full = {"code": "E.X", "message": "m", "remediation": "r", "details": {"a": 1}, "z": 1}
    found = returned({"status": "failed", "error": full})["error"]
    assert found == {"code": "E.X", "message": "m", "remediation": "r", "details": {"a": 1}}
    assert "no reason" in returned({"status": "failed"})["error"]["message"]
    assert returned({"error": "just a word"})["result"] == {"error": "just a word"}


def test_an_exception_is_a_failure_with_its_trace() -> None:
    try:
        raise ValueError("wrong")
    except ValueError as error:
        outcome = raised(error)
    assert outcome["error"]["message"] == "ValueError: wrong"
    assert "test_handler_outcomes.py" in outcome["error"]["details"]["traceback"]


def test_values_that_have_an_obvious_json_form_get_it() -> None:
    @dataclasses.dataclass
    class Point:
        x: int

    at = datetime.datetime(2026, 1, 2, tzinfo=datetime.UTC)
    value = {"p": Point(1), "path": Path("/a"), "at": at, "c": Channel.llm, "s": {1}}
    assert json.loads(encoded(value)) == {
        "p": {"x": 1},
        "path": "/a",
        "at": "2026-01-02T00:00:00+00:00",
        "c": "llm",
        "s": [1],
    }


def test_frames_come_out_whole_whatever_pieces_they_come_in() -> None:
    bodies = [b"", b"a", b"bc" * 1000]
    stream = b"".join(framed(body) for body in bodies)
    for size in (1, 3, 7, len(stream)):
        unpacker = Unpacker()
        pieces = [stream[at : at + size] for at in range(0, len(stream), size)]
        assert [body for piece in pieces for body in unpacker.feed(piece)] == bodies


def test_a_frame_that_announces_too_much_is_refused() -> None:
    head = (FRAME_BYTES_MAX + 1).to_bytes(4, "big")
    with pytest.raises(TooLarge):
        list(Unpacker().feed(head))


def publisher() -> tuple[FeedbackPublisher, list[dict[str, Any]]]:
    sent: list[dict[str, Any]] = []
    return FeedbackPublisher(sent.append, lambda: None), sent


def test_feedback_is_sent_whether_or_not_it_is_awaited() -> None:
    feedback, sent = publisher()

    async def use() -> None:
        await feedback.send(stage="a", progress=7, chunks=[{"text": "x"}])
        await asyncio.create_task(feedback.emit_text("y", channel="llm"))
        feedback.send_nowait(chunks=[FeedbackChunk(Channel.stdout, text="z")])

    asyncio.run(use())
    assert sent == [
        {"stage": "a", "progress": 1.0, "chunks": [{"channel": "log", "text": "x"}]},
        {"chunks": [{"channel": "llm", "text": "y"}]},
        {"chunks": [{"channel": "stdout", "text": "z"}]},
    ]
    with pytest.raises(ValueError, match="nonsense"):
        feedback.emit_text("y", channel="nonsense")


def test_handlers_are_found_however_they_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "loading_fixture.py").write_text(
        "class Runs:\n"
        "    made = 0\n"
        "    def __init__(self):\n        type(self).made += 1\n"
        "    async def async_run(self, ctx): return 'async_run'\n"
        "    def run(self, ctx): return 'run'\n"
        "    def click(self, ctx): return self.made\n"
        "class Calls:\n"
        "    async def __call__(self, ctx): return 'called'\n"
        "nested = type('N', (), {'deep': Runs()})\n"
        "def plain(ctx): return 'plain'\n"
        "number = 1\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))

    def entry(name: str, *path: str, **more: Any) -> dict[str, Any]:
        return {"type": name, "module": "loading_fixture", "path": path, **more}

    loader = Loader(
        tmp_path / "nowhere",
        [
            entry("object", "Runs"),
            entry("maybe", "Runs", maybe="click"),
            entry("maybe not", "plain", maybe="click"),
            entry("method", "Runs", "click"),
            entry("callable", "Calls"),
            entry("dotted", "nested", "deep", "click"),
            entry("inline", "plain", exec_mode="inline"),
            entry("missing", "Runs", "nothing"),
            entry("number", "number"),
        ],
    )
    assert loader.handler("object").is_async
    assert not loader.handler("object").in_thread
    assert loader.handler("maybe").call(None) == 2  # the one of `nested`, and one for us all
    assert loader.handler("method").call(None) == 2
    assert loader.handler("maybe not").call(None) == "plain"
    assert loader.handler("maybe not").in_thread
    assert loader.handler("callable").is_async
    assert loader.handler("dotted").call(None) == 2
    assert not loader.handler("inline").in_thread
    with pytest.raises(AttributeError, match=r"loading_fixture\.Runs has no nothing"):
        loader.handler("missing")
    with pytest.raises(TypeError, match="not callable"):
        loader.handler("number")
