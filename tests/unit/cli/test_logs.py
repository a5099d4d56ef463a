"""`windlass run logs`: the stream of a run's logs, as far as it goes or until the run has ended."""

import json
from typing import Any

import httpx
import pytest

from tests.unit.cli.conftest import Invoke, Server
from windlass.cli import logs

ID = "01a1deba-e800-7681-b747-fb331afd5d7c"
AT = 1_700_000_000_000


def entry(text: str, task: str = "a.1", level: str | None = None, after: int = 0) -> dict[str, Any]:
    return {
        "at": AT + after,
        "level": level,
        "guess": None,
        "task": f"{ID}~{task}",
        "attempt": 1,
        "channel": "log",
        "text": text,
    }


FIRST: dict[str, Any] = {
    "items": [entry("one"), entry("two", "b.1", "warning", 5)],
    "next": "p2",
    "position": "p2",
}
SECOND: dict[str, Any] = {"items": [entry("three\nlines", after=9)], "next": None, "position": "p3"}
THIRD: dict[str, Any] = {"items": [entry("four", after=12)], "next": None, "position": "p4"}


@pytest.fixture
def states() -> list[str]:
    """The states that a run is in, one each time somebody asks; the last of them stays."""
    return ["succeeded"]


@pytest.fixture(autouse=True)
def answers(server: Server, states: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "_PAUSE_S", 0)
    failed = {"kind": "failed", "message": "it broke"}
    attempts = [
        {"id": f"{ID}~a.1@1", "number": 1, "state": "succeeded"},
        {"id": f"{ID}~b.1@1", "number": 1, "state": "failed", "error": failed, "finishedAt": AT},
    ]

    def page(request: httpx.Request) -> dict[str, Any]:
        given = request.url.params.get("cursor")
        pages = {None: FIRST, "p2": SECOND, "p3": THIRD}
        return pages.get(given, {"items": [], "next": None, "position": given})

    def run(_: httpx.Request) -> dict[str, Any]:
        return {"id": ID, "state": states.pop(0) if len(states) > 1 else states[0]}

    server.answers = {
        ("GET", f"/api/v1/runs/{ID}"): run,
        ("GET", f"/api/v1/runs/{ID}/logs"): page,
        ("GET", f"/api/v1/runs/{ID}/attempts"): {"items": attempts, "next": None},
    }


def test_each_line_has_its_time_level_attempt_and_text(invoke: Invoke) -> None:
    shown = invoke("run", "logs", ID).output.splitlines()
    assert [line.split("\t") for line in shown] == [
        ["2023-11-14T22:13:20.000+00:00", "", f"{ID}~a.1@1", "one"],
        ["2023-11-14T22:13:20.005+00:00", "warning", f"{ID}~b.1@1", "two"],
        ["2023-11-14T22:13:20.009+00:00", "", f"{ID}~a.1@1", "three"],
        ["2023-11-14T22:13:20.009+00:00", "", f"{ID}~a.1@1", "lines"],
        ["2023-11-14T22:13:20.000+00:00", "error", f"{ID}~b.1@1", "it broke"],
    ]


@pytest.mark.usefixtures("on_terminal")
def test_on_a_terminal_places_are_short_and_lines_of_one_entry_stand_below_each_other(
    invoke: Invoke,
) -> None:
    shown = invoke("run", "logs", ID).output.splitlines()
    assert shown[1].endswith("  warning   b.1#1  two")
    assert shown[2].endswith("a.1#1  three")
    assert shown[3] == " " * (len(shown[2]) - len("three")) + "lines"


def test_one_task_is_named_by_its_node_and_the_rest_is_the_servers_to_narrow(
    server: Server, invoke: Invoke
) -> None:
    shown = invoke("run", "logs", ID, "--task", "b", "--attempt", "1", "--level", "info").output
    assert [line.split("\t")[3] for line in shown.splitlines()] == ["two", "it broke"]
    asked = next(r.url.params for r in server.requests if r.url.path.endswith("/logs"))
    assert (asked["attempt"], asked["level"], "task" in asked) == ("1", "info", False)
    invoke("run", "logs", ID, "--task", f"{ID}~b.1")
    asked = [r.url.params for r in server.requests if r.url.path.endswith("/logs")][-1]
    assert asked["task"] == f"{ID}~b.1"


@pytest.mark.parametrize("states", [["running", "running", "running", "succeeded"]])
def test_who_follows_is_told_until_the_run_has_ended(server: Server, invoke: Invoke) -> None:
    shown = invoke("run", "logs", ID, "-f", "--json").output
    texts = [json.loads(line)["text"] for line in shown.splitlines()]
    assert texts == ["one", "two", "three\nlines", "four"]
    asked = [r.url.params.get("waitMs") for r in server.requests if r.url.path.endswith("/logs")]
    assert asked == ["20000", "20000", None], "it is told, rather than asking again and again"


def test_json_is_the_entries_as_they_are(invoke: Invoke) -> None:
    found = json.loads(invoke("run", "logs", ID, "--json").output)
    assert found == [*FIRST["items"], *SECOND["items"]]


def test_a_run_without_a_word_says_so(server: Server, invoke: Invoke) -> None:
    server.answers["GET", f"/api/v1/runs/{ID}/logs"] = {"items": [], "next": None}
    attempts = [{"id": f"{ID}~a.1@1", "number": 1, "state": "succeeded"}]
    server.answers["GET", f"/api/v1/runs/{ID}/attempts"] = {"items": attempts, "next": None}
    assert "its attempts logged nothing" in invoke("run", "logs", ID).output
    assert "no such attempts" in invoke("run", "logs", ID, "--task", "z").output
    assert "nothing like that was logged" in invoke("run", "logs", ID, "--level", "error").output
