"""Real containers and browsers: leased, used by real workers, held while everything restarts."""

import contextlib
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

from tests.integration.conftest import TOKEN
from tests.site import site
from windlass.testing.podman import IMAGE, PodmanServer
from windlass.testing.processes import Process, ServerProcess, wait_until, worker_process

SERVICES = Path(__file__).parent / "services"
EXAMPLES = Path(__file__).parents[2] / "examples" / "envs"
CHROMIUM = "/usr/bin/chromium"


class Place:
    """A server and a worker that can both be killed and started again."""

    def __init__(self, folder: Path, podman: PodmanServer, *, hosted: bool = False) -> None:
        self._db = f"sqlite:///{folder / 'windlass.db'}"
        self._log = folder / "processes.log"
        self._folder = folder
        self._hosted = hosted
        self._args = () if hosted else ("--env-docker", podman.url, "--env-browser", CHROMIUM)
        self.podman = podman
        self.processes: list[Process] = []
        self.http = httpx.Client()

    def start(self) -> None:
        server = ServerProcess(
            self._db, "--admin-token", TOKEN, "--lease-s", "3", *self._args, log=self._log
        )
        server.start()
        told: dict[str, Any] = {"token": TOKEN, "log": self._log}
        worker = worker_process("env_services:worker", server.url, "pull", path=[SERVICES], **told)
        worker.start()
        example = worker_process("places:worker", server.url, "pull", path=[EXAMPLES], **told)
        example.start()
        self.processes = [server, worker, example]
        if self._hosted:
            self.processes.append(self._host(server.url))
        headers = {"Authorization": f"Bearer {TOKEN}"}
        self.http = httpx.Client(base_url=server.url, headers=headers, timeout=60)
        wait_until(self._has_runtimes)

    def _host(self, url: str) -> Process:
        runtimes = ("--docker", self.podman.url, "--browser", CHROMIUM)
        state = ("--state", str(self._folder / "host"))
        names = ("--server", url, "--name", "machine", "--token", TOKEN)
        host = Process("env-host", *names, *runtimes, *state, log=self._log)
        host.start()
        return host

    def kill(self) -> None:
        for process in self.processes:
            process.kill()
        self.processes = []
        self.http.close()

    def kill_browsers(self) -> None:
        mark = f"--user-data-dir={self._folder / 'host'}"
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                if any(word.startswith(mark) for word in process.cmdline()):
                    process.kill()

    def _has_runtimes(self) -> bool:
        kinds = self.http.get("/api/v1/envs/kinds").json()["items"]
        return {"container", "browser"} <= {one["kind"] for one in kinds if not one["missing"]}

    def make(self, name: str, kind: str, config: dict[str, Any]) -> None:
        body = {"name": name, "kind": kind, "config": config}
        answer = self.http.post("/api/v1/envs/resources", json=body)
        assert answer.status_code == 201, answer.text

    def plan(self, resource: str, kind: str, service: str, **inputs: Any) -> str:
        needs = {"required": True, "kind": kind, "resource_name": resource}
        task = {"alias": "a", "goal": "go", "env_preconditions": needs, "inputs": inputs}
        body = {"dialect": "plan", "goal": "go", "plan": {"tasks": [task]}}
        answer = self.http.post("/api/v1/runs", json={**body, "workerProfile": service})
        assert answer.status_code == 202, answer.text
        return str(answer.json()["id"])

    def asked(self, run_id: str) -> str:
        def question() -> str | None:
            found = self.http.get("/api/v1/checkpoints", params={"run": run_id}).json()["items"]
            return next((str(row["id"]) for row in found if row["runId"] == run_id), None)

        found: str = wait_until(question)
        return found

    def answer(self, checkpoint: str) -> None:
        told = self.http.post(f"/api/v1/checkpoints/{checkpoint}/resolve", json={"answer": "yes"})
        assert told.status_code == 200, told.text

    def ended(self, run_id: str) -> dict[str, Any]:
        path, query = f"/api/v1/runs/{run_id}", {"waitMs": 40_000}
        found: dict[str, Any] = self.http.get(path, params=query).json()
        assert found["state"] == "succeeded", (found["error"], found)
        return found

    def output(self, run_id: str) -> dict[str, Any]:
        tasks = self.http.get(f"/api/v1/runs/{run_id}/tasks").json()["items"]
        one = next(task for task in tasks if task["kind"] == "call")
        path = f"/api/v1/runs/{run_id}/tasks/{one['id']}"
        found: dict[str, Any] = self.http.get(path).json()
        return found

    def sessions(self, run_id: str) -> list[dict[str, Any]]:
        query = {"run": run_id, "state": "all"}
        found: list[dict[str, Any]] = self.http.get("/api/v1/envs/sessions", params=query).json()[
            "items"
        ]
        return found

    def given_back(self, run_id: str) -> bool:
        return all(row["state"] == "released" for row in self.sessions(run_id))


@pytest.fixture
def place(tmp_path: Path, podman_server: PodmanServer) -> Iterator[Place]:
    found = Place(tmp_path, podman_server)
    found.start()
    try:
        yield found
    finally:
        found.kill()


@pytest.fixture
def hosted(tmp_path: Path, podman_server: PodmanServer) -> Iterator[Place]:
    """The same with the runtimes on another machine, as far as the server can tell."""
    found = Place(tmp_path, podman_server, hosted=True)
    found.start()
    try:
        yield found
    finally:
        found.kill()


def test_work_is_done_in_a_container_of_its_own(place: Place) -> None:
    place.make("box", "container", {"image": IMAGE, "pull": "never"})
    node: dict[str, Any] = {"kind": "executor", "exec_type": "queue", "env": "box"}
    node["service"] = "box.look"
    node["post"] = {"output_key": "seen"}
    definition = {"start": "a", "nodes": {"a": node}, "edges": []}
    place.http.post("/api/v1/flows/look/versions", json={"definition": definition})
    run_id = place.http.post("/api/v1/runs", json={"flow": "look"}).json()["id"]
    place.ended(run_id)
    seen = place.http.get(f"/api/v1/runs/{run_id}", params={"include": "shared"}).json()
    shared = seen["shared"]["seen"]
    assert shared["who"][0] == "65534", "nobody"
    assert shared["who"][1] == "1", "the header, and no route anywhere"
    assert shared["said"] == shared["read"] == "written"
    wait_until(lambda: place.given_back(run_id))
    assert place.podman.run("ps", "--all", "--quiet") == ""


def test_the_examples_come_to_what_they_say(place: Place) -> None:
    place.make("box", "container", {"image": IMAGE, "pull": "never"})
    place.make("web", "browser", {})
    plan = json.loads((EXAMPLES / "draft.json").read_text())
    body = {"dialect": "plan", "goal": "a draft", "plan": plan}
    planned = place.http.post("/api/v1/runs", json=body).json()["id"]
    answer = place.http.post(
        "/api/v1/flows/count/versions",
        content=(EXAMPLES / "count.yaml").read_bytes(),
        headers={"Content-Type": "application/yaml"},
    )
    assert answer.status_code == 201, answer.text
    started = place.http.post("/api/v1/runs", json={"flow": "count", "params": {"text": "a b c"}})
    flow_run = started.json()["id"]
    assert place.ended(flow_run)["shared"]["shown"] == {"title": "Words", "heading": "3 words"}
    place.answer(place.asked(planned))
    assert place.ended(planned)["output"] == {"seen": "a first draft"}
    # Places outlive the server that is about to be killed.
    for run_id in (flow_run, planned):
        wait_until(lambda run_id=run_id: place.given_back(run_id))


def test_a_container_is_held_while_everything_restarts(hosted: Place) -> None:
    place = hosted
    place.make("box", "container", {"image": IMAGE, "pull": "never"})
    run_id = place.plan("box", "container", "box.visits")
    question = place.asked(run_id)
    before = place.sessions(run_id)[0]
    place.kill()
    place.start()
    place.answer(question)
    place.ended(run_id)
    [after] = place.sessions(run_id)
    assert (after["id"], after["epoch"]) == (before["id"], 2)
    assert "'n': '2\\n'" in str(place.output(run_id)), "it went on with its own files"
    wait_until(lambda: place.given_back(run_id))
    assert place.podman.run("ps", "--all", "--quiet") == ""


def test_images_are_built_as_jobs_with_logs(place: Place) -> None:
    at = "/api/v1/envs/images"

    def over(name: str) -> dict[str, Any]:
        def look() -> dict[str, Any] | None:
            found: dict[str, Any] = place.http.get(f"{at}/{name}").json()
            return found if found["status"] in ("ready", "failed") else None

        found: dict[str, Any] = wait_until(look)
        return found

    def build(name: str, text: str) -> dict[str, Any]:
        body = {"name": name, "sourceType": "dockerfile", "dockerfile": text}
        answer = place.http.post(at, json=body)
        assert answer.status_code == 201, answer.text
        assert answer.json()["status"] == "pending"
        return over(name)

    good = build("good", f"FROM {IMAGE}\nRUN echo made > /etc/made\n")
    assert good["status"] == "ready", good
    assert good["digest"].startswith("sha256:")
    assert "echo made" in good["log"]
    place.make("built", "container", {"image": good["imageRef"], "pull": "never"})
    bad = build("bad", f"FROM {IMAGE}\nRUN false\n")
    assert bad["status"] == "failed"
    assert bad["error"]
    away = {"name": "away", "imageRef": "127.0.0.1:1/nothing:1"}
    assert place.http.post(at, json=away).status_code == 201
    assert "127.0.0.1:1" in over("away")["error"]
    told = place.http.get("/orchestration/container-images/capabilities").json()
    assert told == {"dockerfile_build": True, "reason": ""}


@pytest.mark.skipif(shutil.which(CHROMIUM) is None, reason="needs Chromium")
def test_a_browser_is_held_while_everything_restarts(hosted: Place) -> None:
    place = hosted
    place.make("web", "browser", {})
    with site() as url:
        run_id = place.plan("web", "browser", "web.visit", url=url)
        question = place.asked(run_id)
        [session] = place.sessions(run_id)
        at = f"/api/v1/envs/sessions/{session['id']}"
        picture = place.http.get(f"{at}/screenshot")
        assert picture.content.startswith(b"\x89PNG"), picture.text
        place.kill()
        place.start()
        place.answer(question)
        place.ended(run_id)
        assert f"['{url}', 'page 3', 'who=me']" in str(place.output(run_id))
        wait_until(lambda: place.given_back(run_id))
        killed_while_held(place, url)


def killed_while_held(place: Place, url: str) -> None:
    """A browser that died meanwhile is brought back before its next holder is let in."""
    run_id = place.plan("web", "browser", "web.visit", url=url)
    question = place.asked(run_id)
    [session] = place.sessions(run_id)
    at = f"/api/v1/envs/sessions/{session['id']}"

    def is_kept() -> bool:
        kinds = [one["kind"] for one in place.http.get(at).json()["snapshots"]]
        return "checkpoint" in kinds

    wait_until(is_kept)
    place.kill_browsers()
    place.answer(question)
    place.ended(run_id)
    assert f"['{url}', 'page 3', 'who=me']" in str(place.output(run_id))
    [after] = place.sessions(run_id)
    assert (after["id"], after["epoch"]) == (session["id"], 2), "and in no other place"
    actions = place.http.get(f"/api/v1/runs/{run_id}/actions").json()["items"]
    told = [(one["tool"], one["effect"], one["state"]) for one in actions]
    assert told == [("env.browser", "external_write", "completed")] * 2
