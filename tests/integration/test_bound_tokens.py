"""A token bound to a worker touches that worker's attempts and no others, on any path there is.

The paths come from the server's own table and their bodies from the hostile corpus, which has one
for each: a path that is new is tried as well, without anybody having to think of it.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest

from tests.hostile_pocketflow import POCKETFLOW
from tests.hostile_requests import BODIES, path_of
from windlass.server.app import NATIVE
from windlass.server.compat.astraflow import unserved
from windlass.server.compat.memoh import routes as memoh
from windlass.server.compat.pocketflow import routes as pocketflow
from windlass.server.routes import Route
from windlass.testing import servers
from windlass.testing.processes import ServerProcess, started

ADMIN = "the-admins-token"
ROUTES = (*NATIVE, *unserved.ROUTES, *memoh.ROUTES, *pocketflow.ROUTES)
READS = {None, "viewer", "run.viewer", "workflow.viewer"}
WORK = {"start": "a", "nodes": {"a": {"exec_type": "queue", "service": "s"}}, "edges": []}
Json = dict[str, Any]


class Held(NamedTuple):
    """An attempt in the hands of the worker `owner`."""

    run_id: str
    id: str
    token: str


class Bench:
    def __init__(self, url: str, clients: ExitStack) -> None:
        self._clients = clients
        self.admin = self.client(url, ADMIN)
        self.owner = self.client(url, self.token("owner"))
        self.thief = self.client(url, self.token("thief*"))
        answer = self.admin.post("/api/v1/flows/work/versions", json={"definition": WORK})
        assert answer.status_code == 201, answer.text
        for worker, http in (("owner", self.owner), ("thief", self.thief)):
            body = {"id": worker, "transport": "pull", "services": ["s"], "capacity": 9}
            assert http.post("/api/v1/workers", json=body).status_code == 200

    def client(self, url: str, token: str) -> httpx.Client:
        headers = {"Authorization": f"Bearer {token}"}
        client = httpx.Client(base_url=url, headers=headers, timeout=30)
        return self._clients.enter_context(client)

    def token(self, workers: str) -> str:
        body = {"name": f"of {workers}", "role": "worker", "workers": workers}
        return str(self.admin.post("/api/v1/tokens", json=body).json()["token"])

    def held(self) -> Held:
        """Start a run and let the owner take its work."""
        run_id = self.admin.post("/api/v1/runs", json={"flow": "work"}).json()["id"]
        body = {"services": ["s"], "slots": 1, "waitMs": 5_000}
        [given] = self.owner.post("/api/v1/workers/owner/exchange", json=body).json()["attempts"]
        assert given["runId"] == run_id
        return Held(run_id, given["attemptId"], given["token"])

    def seen(self, held: Held) -> Json:
        """All that anybody can see of an attempt."""
        at = f"/api/v1/runs/{held.run_id}"
        [attempt] = self.admin.get(f"{at}/attempts").json()["items"]
        return {"attempt": attempt, "run": self.admin.get(at).json()}


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def bench(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    postgres_server: servers.PostgresServer,
) -> Iterator[Bench]:
    folder: Path = tmp_path_factory.mktemp("bound")
    log = folder / "log"
    sqlite = f"sqlite:///{folder / 'windlass.db'}"
    db = sqlite if request.param == "sqlite" else postgres_server.new_database()
    server = ServerProcess(db, "--admin-token", ADMIN, log=log)
    with started(server), ExitStack() as clients:
        yield Bench(server.url, clients)
    assert "Traceback" not in log.read_text()


def about(value: Any, held: Held, worker: str, key: str = "") -> Any:
    """A body of the corpus, speaking of an attempt in the name of a worker."""
    if isinstance(value, dict):
        return {name: about(part, held, worker, name) for name, part in value.items()}
    if isinstance(value, list):
        return [about(part, held, worker, key) for part in value]
    if key == "token":
        return held.token
    words = {
        "none~1": held.id,
        "none~1@1": held.id,
        "none~a.0": held.id.partition("@")[0],
        "none": held.run_id,
        "q-none": f"q-{held.id}",
        "run-none": f"run-{held.id}",
        "hostile-pull": worker,
        "hostile-pocket": worker,
        "hostile-http": worker,
        "nobody-calls-this": "other",
    }
    return words.get(value, value) if isinstance(value, str) else value


def body_of(route: Route) -> Json | None:
    bare = route.path.removeprefix("/api")
    return (
        BODIES.get(f"{route.method} {route.path}")
        or POCKETFLOW.get(bare)
        or POCKETFLOW.get(f"/workers{bare}")
    )


def send(http: httpx.Client, route: Route, held: Held, worker: str) -> httpx.Response:
    known = {"workers": worker, "runs": held.run_id, "attempt_id": held.id}
    body = body_of(route)
    sent = None if body is None else about(body, held, worker)
    return http.request(route.method, path_of(route, known), json=sent)


def test_a_bound_token_moves_nothing_of_another_worker_whatever_the_path(bench: Bench) -> None:
    held = bench.held()
    before = bench.seen(held)
    for route in ROUTES:
        if "stream" in route.path or route.path.endswith("/events"):
            continue  # they go on for ever, and only read
        for worker in ("thief", "owner"):
            answer = send(bench.thief, route, held, worker)
            where = f"{route.method} {route.path} as {worker}: {answer.status_code} {answer.text}"
            of_owner = route.role == "worker" and worker == "owner"
            if of_owner or (route.role not in READS | {"worker"} and answer.status_code != 501):
                assert answer.status_code == 403, where
        assert bench.seen(held) == before, f"{route.method} {route.path}"


WAYS: dict[str, Callable[[Held], Json]] = {
    "/queue/complete": lambda held: {"queue_id": held.id, "token": held.token, "result": 1},
    "/queue/complete of many": lambda held: {
        "items": [{"queue_id": held.id, "token": held.token, "result": 1}]
    },
    "/queue/complete in vain": lambda held: {
        "queue_id": held.id,
        "token": held.token,
        "error": "no",
    },
    "/queue/heartbeat": lambda held: {"queue_id": held.id, "token": held.token},
    "/queue/heartbeat of many": lambda held: {"queue_ids": [held.id, held.id]},
    "/queue/update_run": lambda held: {"run_id": held.id, "status": "running"},
    "/api/v1/workers/{worker}/exchange of results": lambda held: {
        "services": ["other"],
        "results": [{"attemptId": held.id, "token": held.token, "output": 1, "log": "l"}],
    },
    "/api/v1/workers/{worker}/exchange of failures": lambda held: {
        "services": ["other"],
        "results": [
            {
                "attemptId": held.id,
                "token": held.token,
                "error": {"kind": "failed", "message": "no"},
            }
        ],
    },
    "/api/v1/workers/{worker}/exchange of leases": lambda held: {
        "services": ["other"],
        "renew": [held.id],
    },
    "/api/v1/workers/{worker}/exchange of logs": lambda held: {
        "services": ["other"],
        "said": [{"attemptId": held.id, "token": held.token, "offset": 0, "text": "said"}],
    },
}


@pytest.mark.parametrize("way", WAYS)
def test_what_the_thief_may_not_do_its_owner_may(bench: Bench, way: str) -> None:
    """Also with the attempt's own token, which travels with the work."""
    held = bench.held()
    before = bench.seen(held)
    path = way.partition(" of ")[0].partition(" in ")[0]
    body = WAYS[way](held)
    for worker, http in (("thief", bench.thief), ("owner", bench.owner)):
        given = {**body, "worker_id": worker}
        answer = http.post(path.replace("{worker}", worker), json=given)
        assert answer.status_code in ((200, 403, 409) if worker == "thief" else (200,))
        assert (bench.seen(held) == before) is (worker == "thief"), (worker, answer.text)


def test_parameters_of_an_attempt_are_its_own_workers(bench: Bench) -> None:
    held = bench.held()
    at = f"/api/v1/attempt-parameters/{held.id}"
    assert bench.thief.get(at).status_code == 403
    assert bench.owner.get(at).status_code == 404  # this one's fitted into its dispatch


def test_every_path_for_workers_is_known_here() -> None:
    """One that takes a body has it in the corpus, so the test above says something with it."""
    for route in ROUTES:
        if route.role == "worker" and route.method != "GET":
            assert body_of(route) is not None or route.method == "DELETE", route.path


@pytest.mark.parametrize("slip", [{"worker": "owner"}, {"expires_in_s": 60}, {"tenants": "a"}])
def test_a_restriction_that_is_misspelt_makes_no_token_without_it(bench: Bench, slip: Json) -> None:
    body = {"name": "meant to be less", "role": "worker", **slip}
    answer = bench.admin.post("/api/v1/tokens", json=body)
    assert answer.status_code == 400, answer.text
    assert next(iter(slip)) in answer.text
