"""What commands in real containers say, while they run: to operators, to workers, in a terminal."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from base64 import b64decode
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.integration.conftest import TOKEN, Served
from tests.integration.test_env_runtimes import SERVICES, Place
from tests.integration.test_envs import Hand, flow, make
from windlass.testing.podman import IMAGE, PodmanServer
from windlass.testing.processes import wait_until, worker_process

_TICKS = "while true; do echo tick | tee -a ticks; sleep 0.05; done"
_STREAM = {"Accept": "text/event-stream"}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, podman_server: PodmanServer) -> Iterator[Place]:
    """The runtimes are on another machine, as far as the server can tell."""
    found = Place(tmp_path_factory.mktemp("output"), podman_server, hosted=True)
    found.start()
    try:
        yield found
    finally:
        found.kill()


@pytest.fixture(scope="module")
def held(place: Place) -> Iterator[str]:
    """A session that waits for a person."""
    place.make("box", "container", {"image": IMAGE, "pull": "never"})
    run_id = place.plan("box", "container", "box.visits")
    place.asked(run_id)
    [session] = place.sessions(run_id)
    at = f"/api/v1/envs/sessions/{session['id']}"
    wait_until(
        lambda: "checkpoint" in [one["kind"] for one in place.http.get(at).json()["snapshots"]]
    )
    yield str(session["id"])
    # Places outlive the server that is about to be killed.
    assert place.http.post(f"/api/v1/runs/{run_id}/cancel", json={}).status_code < 300
    wait_until(lambda: place.given_back(run_id))


def command(line: str, **more: Any) -> dict[str, Any]:
    return {"command": ["sh", "-c", line], **more}


def events(answer: httpx.Response) -> Iterator[tuple[str, dict[str, Any]]]:
    name = ""
    for line in answer.iter_lines():
        if line.startswith("event: "):
            name = line.removeprefix("event: ")
        if line.startswith("data: "):
            yield name, json.loads(line.removeprefix("data: "))


def is_still(place: Place, session: str) -> bool:
    """Whether nothing ticks in it any more."""

    def ticks() -> int:
        body = command("wc -c < ticks")
        answer = place.http.post(f"/api/v1/envs/sessions/{session}/exec", json=body)
        return int(b64decode(answer.json()["out"]))

    before = ticks()
    time.sleep(0.4)
    return ticks() == before


def test_an_operator_hears_a_command_while_it_runs(place: Place, held: str) -> None:
    at = f"/api/v1/envs/sessions/{held}/exec"
    body = command("echo one; sleep 1; echo two; echo no >&2; exit 3")
    heard: list[tuple[float, str, dict[str, Any]]] = []
    with place.http.stream("POST", at, json=body, headers=_STREAM) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        for name, data in events(answer):
            heard.append((time.monotonic(), name, data))
    assert [name for _, name, _ in heard] == ["out", "out", "err", "done"]
    assert heard[1][0] - heard[0][0] > 0.7, "the first line was held back"
    assert b64decode(heard[1][2]["data"]) == b"two\n"
    plain = place.http.post(at, json=body).json()
    assert heard[-1][2] == plain, "the plain form's answer"
    assert (plain["code"], b64decode(plain["out"])) == (3, b"one\ntwo\n")
    with place.http.stream("POST", at, json=command("sleep 9", timeoutS=0.5), headers=_STREAM) as a:
        [(name, data)] = events(a)
    assert (name, data["timedOut"]) == ("done", True)


def test_a_client_that_goes_away_ends_its_command(place: Place, held: str) -> None:
    at = f"/api/v1/envs/sessions/{held}/exec"
    with place.http.stream("POST", at, json=command(_TICKS), headers=_STREAM) as answer:
        assert next(events(answer))[0] == "out"
    wait_until(lambda: is_still(place, held), 10)
    with contextlib.suppress(httpx.ReadTimeout):
        place.http.post(at, json=command(_TICKS), timeout=0.5)
    wait_until(lambda: is_still(place, held), 10)


def test_a_terminal_shows_lines_as_they_come_and_an_interrupt_ends_them(
    place: Place, held: str
) -> None:
    env = {**os.environ, "WINDLASS_URL": str(place.http.base_url), "WINDLASS_TOKEN": TOKEN}
    words = [sys.executable, "-m", "windlass", "env", "exec", held, "--", "sh", "-c", _TICKS]
    with subprocess.Popen(words, stdout=subprocess.PIPE, env=env, text=True) as terminal:
        assert terminal.stdout is not None
        assert [terminal.stdout.readline() for _ in range(3)] == ["tick\n"] * 3
        terminal.send_signal(signal.SIGINT)
        assert terminal.wait(10) != 0
    wait_until(lambda: is_still(place, held), 10)
    lines = "mkdir -p deep/er\ncd deep && echo moved\ncd er\npwd\ncd nowhere\npwd; exit 7\n"
    words = [sys.executable, "-m", "windlass", "env", "shell", held]
    done = subprocess.run(
        words, input=lines, capture_output=True, env=env, text=True, timeout=60, check=False
    )
    there = "/workspace/deep/er"
    assert done.stdout.splitlines() == ["moved", there, there]
    assert "nowhere" in done.stderr
    assert done.returncode == 7


@pytest.mark.parametrize("mode", ["pull", "push", "link"])
def test_a_handler_hears_its_command_whatever_its_worker_is(place: Place, mode: str) -> None:
    log = place._log
    resource = f"loud-{mode}"
    place.make(resource, "container", {"image": IMAGE, "pull": "never"})
    url = str(place.http.base_url)
    node: dict[str, Any] = {"kind": "executor", "exec_type": "queue", "env": resource}
    node |= {"service": "box.loud", "post": {"output_key": "seen"}}
    if mode == "push":
        node |= {"exec_type": "http"}
    definition = {"start": "a", "nodes": {"a": node}, "edges": []}
    answer = place.http.post(f"/api/v1/flows/loud-{mode}/versions", json={"definition": definition})
    assert answer.status_code == 201, answer.text
    with worker_process("loud_services:worker", url, mode, token=TOKEN, path=[SERVICES], log=log):
        run_id = place.http.post("/api/v1/runs", json={"flow": f"loud-{mode}"}).json()["id"]
        place.ended(run_id)
    seen = place.http.get(f"/api/v1/runs/{run_id}", params={"include": "shared"}).json()
    told = seen["shared"]["seen"]
    assert (told["code"], told["kept"]) == (3, ["one\ntwo\n", "three\n"])
    assert (told["out"], told["err"]) == ("one\ntwo\n", "three\n")
    assert told["gap_s"] > 0.7, "the first line was held back"
    actions = place.http.get(f"/api/v1/runs/{run_id}/actions").json()["items"]
    assert [(one["tool"], one["state"]) for one in actions] == [("env.exec", "completed")]


@pytest.mark.parametrize("accept", ["text/event-stream", "application/json"])
def test_a_cancelled_attempt_loses_its_command_at_once(served: Served, accept: str) -> None:
    name = f"stopped-{accept[:4]}"
    make(served, name)
    served.push(f"env-{name}", flow(f"env.{name}", {"resource": name, "keep_failed_s": 600}))
    worker = Hand(served.http, f"env.{name}")
    run_id = served.start(f"env-{name}")
    taken = worker.take()
    answers: list[str] = []

    def work() -> None:
        worker._http.headers["Accept"] = accept
        answers.append(worker.env(taken, "exec", command=["sleep", "50"], timeoutS=60).text)

    working = threading.Thread(target=work)
    began = time.monotonic()
    working.start()
    at = f"/api/v1/runs/{run_id}/actions"
    try:
        wait_until(lambda: served.http.get(at).json()["items"])
        served.http.post(f"/api/v1/runs/{run_id}/cancel", json={})
        working.join(20)
    finally:
        del worker._http.headers["Accept"]
    assert time.monotonic() - began < 15
    assert "stale_lease" in answers[0]
    [action] = served.http.get(at).json()["items"]
    assert action["state"] == "failed"
