"""A run that went on after failures says so: in lists, at its end, to programs."""

import json

import httpx
import pytest

from tests.unit.cli.conftest import Invoke, Server
from windlass.client.shapes import RunInfo

RUN = {"id": "01900000-aaaa", "flow": "f", "version": 1, "state": "succeeded", "failures": 2}


def test_a_run_that_went_on_after_failures_succeeded_with_failures() -> None:
    ended = RunInfo(id="r", state="succeeded", failures=2)
    assert (ended.with_failures, ended.outcome) == (True, "succeeded with failures")
    assert RunInfo(id="r", state="succeeded").outcome == "succeeded"
    assert RunInfo(id="r", state="failed", failures=1).outcome == "failed"


def test_waiting_for_a_run_tells_of_its_failures(server: Server, invoke: Invoke) -> None:
    server.answers["POST", "/api/v1/runs"] = RUN
    server.answers["GET", f"/api/v1/runs/{RUN['id']}"] = RUN
    for words in (("--wait", "5s"), ("--wait",)):
        done = invoke("run", "start", "f", *words)
        assert done.exit_code == 0
        assert done.stdout == f"{RUN['id']}\tsucceeded with failures\n"
    assert "with failures" in invoke("run", "show", str(RUN["id"])).stderr


def test_watching_a_run_ends_with_its_failures(server: Server, invoke: Invoke) -> None:
    stream = b'id: 1\nevent: run.started\ndata: {"at": 1000}\n\n'
    at = f"/api/v1/runs/{RUN['id']}"
    server.answers["GET", f"{at}/events"] = httpx.Response(200, content=stream)
    server.answers["GET", at] = {**RUN, "createdAt": 1, "finishedAt": 1501}
    watched = invoke("run", "watch", str(RUN["id"]))
    assert watched.exit_code == 0
    assert "succeeded with failures in 1.5s" in watched.stderr
    assert "windlass run tasks 01900000-aaaa --state failed" in watched.stderr


@pytest.mark.usefixtures("on_terminal")
def test_the_list_tells_of_failures(server: Server, invoke: Invoke) -> None:
    server.answers["GET", "/api/v1/runs"] = {"items": [RUN]}
    assert "succeeded with failures" in invoke("run", "ls").stdout


@pytest.mark.usefixtures("on_terminal")
def test_a_run_is_shown_to_people_with_its_failures_and_priority(
    server: Server, invoke: Invoke
) -> None:
    server.answers["GET", f"/api/v1/runs/{RUN['id']}"] = {**RUN, "priority": 7}
    shown = dict(
        line.split(maxsplit=1) for line in invoke("run", "show", str(RUN["id"])).stdout.splitlines()
    )
    assert shown["state"] == "! succeeded with failures"
    assert shown["priority"] == "7"


def test_a_start_in_json_says_what_it_did_and_nothing_it_does_not_know(
    server: Server, invoke: Invoke
) -> None:
    told = {"id": "r1", "flow": "f", "version": 1, "state": "queued", "created": True}
    told |= {"priority": 7, "tags": {"env": "prod"}}
    server.answers["POST", "/api/v1/runs"] = told
    done = invoke("run", "start", "f", "--priority", "7", "--tag", "env=prod", "--json")
    assert json.loads(done.stdout) == told
