"""A machine with runtimes that knows one of two servers is of use through both."""

import base64
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from tests.integration.conftest import TOKEN, Served
from tests.integration.test_env_runtimes import CHROMIUM, SERVICES
from tests.site import site
from windlass.testing.podman import IMAGE, PodmanServer
from windlass.testing.processes import Process, ServerProcess, started, wait_until, worker_process
from windlass.testing.servers import PostgresServer


class Two(NamedTuple):
    known: Served
    """The server that the host was told of."""
    other: Served
    """The one that the worker is connected to."""
    podman: PodmanServer


@pytest.fixture(scope="module")
def two(
    tmp_path_factory: pytest.TempPathFactory,
    postgres_server: PostgresServer,
    podman_server: PodmanServer,
) -> Iterator[Two]:
    folder = tmp_path_factory.mktemp("two")
    db, log = postgres_server.new_database(), folder / "log"
    args = ("--admin-token", TOKEN, "--lease-s", "5")
    known, other = (
        ServerProcess(db, *args, "--data-dir", str(folder / name), log=log)
        for name in ("known", "other")
    )
    host = Process(
        *("env-host", "--server", known.url, "--name", "machine", "--token", TOKEN),
        *("--docker", podman_server.url, "--browser", CHROMIUM, "--state", str(folder / "host")),
        log=log,
    )
    told: dict[str, Any] = {"token": TOKEN, "path": [SERVICES], "log": log}
    worker = worker_process("env_services:worker", other.url, "pull", **told)
    with started(known), started(other), started(host), started(worker):
        pair = Two(Served(known, db), Served(other, db), podman_server)
        wait_until(lambda: has_runtimes(pair.other), 20)
        yield pair
        pair.known.http.close()
        pair.other.http.close()


def has_runtimes(served: Served) -> bool:
    kinds = served.http.get("/api/v1/envs/kinds").json()["items"]
    return {"container", "browser"} <= {one["kind"] for one in kinds if not one["missing"]}


def plan(served: Served, resource: str, kind: str, service: str, **inputs: Any) -> str:
    needs = {"required": True, "kind": kind, "resource_name": resource}
    task = {"alias": "a", "goal": "go", "env_preconditions": needs, "inputs": inputs}
    body = {"dialect": "plan", "goal": "go", "plan": {"tasks": [task]}, "workerProfile": service}
    answer = served.http.post("/api/v1/runs", json=body)
    assert answer.status_code == 202, answer.text
    return str(answer.json()["id"])


def make(served: Served, name: str, kind: str, config: dict[str, Any]) -> None:
    body = {"name": name, "kind": kind, "config": config}
    answer = served.http.post("/api/v1/envs/resources", json=body)
    assert answer.status_code == 201, answer.text


def question(served: Served, run_id: str) -> str:
    def asked() -> str | None:
        found = served.http.get("/api/v1/checkpoints", params={"run": run_id}).json()["items"]
        return next((str(row["id"]) for row in found if row["runId"] == run_id), None)

    found: str = wait_until(asked)
    return found


def session_of(served: Served, run_id: str) -> dict[str, Any]:
    query = {"run": run_id, "state": "all"}
    [found] = served.http.get("/api/v1/envs/sessions", params=query).json()["items"]
    one: dict[str, Any] = found
    return one


def answer_and_end(served: Served, run_id: str, checkpoint: str) -> None:
    told = served.http.post(f"/api/v1/checkpoints/{checkpoint}/resolve", json={"answer": "yes"})
    assert told.status_code == 200, told.text
    assert served.wait(run_id, 40)["state"] == "succeeded"
    wait_until(lambda: session_of(served, run_id)["state"] == "released")


def test_a_container_is_used_through_the_server_its_host_was_not_told_of(two: Two) -> None:
    other = two.other
    make(other, "box", "container", {"image": IMAGE, "pull": "never"})
    run_id = plan(other, "box", "container", "box.visits")
    checkpoint = question(other, run_id)
    session = session_of(other, run_id)
    assert session["host"] == "machine"
    at = f"/api/v1/envs/sessions/{session['id']}"
    for served in two.known, other:
        body = {"command": ["cat", "n"]}
        done = served.http.post(f"{at}/exec", json=body)
        assert done.status_code == 200, done.text
        assert base64.b64decode(done.json()["out"]) == b"1\n"
        assert served.http.post(f"{at}/snapshots").status_code == 201
    answer_and_end(other, run_id, checkpoint)
    assert two.podman.run("ps", "--all", "--quiet") == ""


def test_a_browser_is_driven_through_the_server_its_host_was_not_told_of(two: Two) -> None:
    other = two.other
    make(other, "web", "browser", {})
    with site() as url:
        run_id = plan(other, "web", "browser", "web.visit", url=url)
        checkpoint = question(other, run_id)
        at = f"/api/v1/envs/sessions/{session_of(other, run_id)['id']}/screenshot"
        for served in two.known, other:
            assert served.http.get(at).content.startswith(b"\x89PNG")
        answer_and_end(other, run_id, checkpoint)


def test_it_stays_of_use_when_the_server_it_was_told_of_is_gone_and_back(two: Two) -> None:
    known = two.known.server
    known.kill()
    run_id = plan(two.other, "box", "container", "box.visits")
    checkpoint = question(two.other, run_id)
    known.start()
    wait_until(lambda: has_runtimes(two.known), 20)
    answer_and_end(two.other, run_id, checkpoint)
    assert session_of(two.known, run_id)["epoch"] == 2
