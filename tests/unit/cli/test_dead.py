"""`windlass dead` lists, shows, replays and drops, all of what is meant and nothing else."""

from typing import Any

import httpx

from tests.unit.cli.conftest import Invoke, Server

LETTER = {
    "id": "run-1~a.0",
    "kind": "task",
    "runId": "run-1",
    "flow": "pay",
    "name": "a",
    "failureClass": "timeout",
    "message": "no result within 5 ms",
    "tries": 4,
    "diedAt": 5,
}
AT = "/api/v1/dead-letters"


def test_letters_are_listed_by_filter(server: Server, invoke: Invoke, on_terminal: None) -> None:
    server.answers["GET", AT] = {"items": [LETTER], "next": None}
    done = invoke("dead", "ls", "--flow", "pay", "--class", "timeout", "--kind", "task")
    assert done.exit_code == 0, done.output
    asked = server.requests[-1].url.params
    assert (asked["flow"], asked["class"], asked["kind"]) == ("pay", "timeout", "task")
    assert "run-1~a.0" in done.output
    assert "timeout" in done.output


def test_one_letter_is_shown_with_its_tries(server: Server, invoke: Invoke) -> None:
    tries = [{"number": 4, "at": 5, "by": "w", "failureClass": "timeout", "message": "late"}]
    detail = {**LETTER, "history": tries, "nextMove": "replay", "advice": "replay it"}
    server.answers["GET", f"{AT}/run-1~a.0"] = detail
    done = invoke("dead", "show", "run-1~a.0")
    assert done.exit_code == 0, done.output
    assert "next_move\treplay" in done.output
    assert "try 4\ttimeout\tw\tlate" in done.output


def test_a_replay_goes_on_until_all_that_was_dead_then_is_done(
    server: Server, invoke: Invoke
) -> None:
    parts: list[dict[str, Any]] = [
        {"matched": 500, "done": 500, "refused": [], "next": "c", "before": 9},
        {"matched": 2, "done": 1, "refused": [{"id": "x", "detail": "no"}], "before": 9},
    ]
    server.answers["POST", f"{AT}/replay"] = lambda _: httpx.Response(202, json=parts.pop(0))
    done = invoke("dead", "replay", "--flow", "pay", "--from")
    assert done.exit_code == 3, "some were refused"
    assert "replayed 501 of 502" in done.output
    assert "x: no" in done.output
    body = server.body()
    assert (body["cursor"], body["before"], body["from"], body["flow"]) == ("c", 9, True, "pay")


def test_letters_are_dropped_by_name(server: Server, invoke: Invoke) -> None:
    server.answers["POST", f"{AT}/drop"] = {"matched": 1, "done": 1, "refused": [], "before": 9}
    done = invoke("dead", "drop", "run-1~a.0")
    assert done.exit_code == 0, done.output
    assert server.body()["ids"] == ["run-1~a.0"]
    assert server.body()["all"] is False
