"""A served system for integration tests: real server and worker processes on both databases."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx
import pytest

from tests.integration.pods import Cluster, cluster_on
from windlass.testing import servers
from windlass.testing.kube import KubeServer
from windlass.testing.processes import ServerProcess, started, wait_until, worker_process

TOKEN = "test-admin-token"
LEASE_S = 3.0


class Served:
    """A running server with its workers, and a client that speaks to it."""

    def __init__(self, server: ServerProcess, db: str) -> None:
        self.server = server
        self.db = db
        self.http = httpx.Client(
            base_url=server.url, headers={"Authorization": f"Bearer {TOKEN}"}, timeout=70
        )

    def wait(self, run_id: str, timeout_s: float = 30) -> dict[str, object]:
        answer = self.http.get(f"/api/v1/runs/{run_id}", params={"waitMs": int(timeout_s * 1000)})
        answer.raise_for_status()
        found: dict[str, object] = answer.json()
        return found

    def push(self, name: str, definition: object) -> None:
        answer = self.http.post(f"/api/v1/flows/{name}/versions", json={"definition": definition})
        assert answer.status_code in (200, 201), answer.text

    def start(self, flow: str, params: dict[str, object] | None = None, **extra: object) -> str:
        body = {"flow": flow, "params": params or {}, **extra}
        answer = self.http.post("/api/v1/runs", json=body)
        assert answer.status_code == 202, answer.text
        return str(answer.json()["id"])

    def run(self, flow: str, params: dict[str, object] | None = None) -> dict[str, object]:
        return self.wait(self.start(flow, params))


class Systems:
    """A served system on each kind of database, started when it is first asked for and kept."""

    def __init__(self, folder: Path, postgres: servers.PostgresServer) -> None:
        self._folder = folder
        self._postgres = postgres
        self._running = ExitStack()
        self._known: dict[str, Served] = {}

    def of(self, kind: str) -> Served:
        if kind not in self._known:
            files = self._folder / kind
            files.mkdir()
            db = f"sqlite:///{files}/windlass.db"
            db = db if kind == "sqlite" else self._postgres.new_database()
            self._known[kind] = self._running.enter_context(serving(db, files / "processes.log"))
        return self._known[kind]

    def stop(self) -> None:
        self._running.close()


@contextmanager
def serving(db: str, log: Path) -> Iterator[Served]:
    """A server with a push and a pull worker that host the built-in services."""
    options = ("--admin-token", TOKEN, "--allow-scripts", "--env-noop", "--lease-s", str(LEASE_S))
    server = ServerProcess(db, *options, log=log)
    push = worker_process("builtin", server.url, "push", "--id", "w-push", token=TOKEN, log=log)
    pull = worker_process("builtin", server.url, "pull", "--id", "w-pull", token=TOKEN, log=log)
    with started(server, push, pull):
        found = Served(server, db)

        def both_here() -> bool:
            items = found.http.get("/api/v1/workers").json()["items"]
            return {"w-push", "w-pull"} <= {item["id"] for item in items}

        wait_until(both_here)
        yield found
        found.http.close()


@pytest.fixture(scope="session")
def systems(
    tmp_path_factory: pytest.TempPathFactory, postgres_server: servers.PostgresServer
) -> Iterator[Systems]:
    systems = Systems(tmp_path_factory.mktemp("served"), postgres_server)
    yield systems
    systems.stop()


@pytest.fixture(scope="session", params=["sqlite", "postgres"])
def served(request: pytest.FixtureRequest, systems: Systems) -> Served:
    """A server with its workers, on each kind of database."""
    return systems.of(request.param)


@pytest.fixture(params=["sqlite", "postgres"])
def fresh_database(
    request: pytest.FixtureRequest, tmp_path: Path, postgres_server: servers.PostgresServer
) -> str:
    """The address of an empty database, of each kind in turn."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'windlass.db'}"
    return postgres_server.new_database()


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def module_database(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    postgres_server: servers.PostgresServer,
) -> str:
    """The address of an empty database that the tests of a module share, of each kind in turn."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path_factory.mktemp('database') / 'windlass.db'}"
    return postgres_server.new_database()


@pytest.fixture(scope="module")
def kube() -> Iterator[KubeServer]:
    with KubeServer() as kube:
        yield kube


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def cluster(
    request: pytest.FixtureRequest,
    kube: KubeServer,
    tmp_path_factory: pytest.TempPathFactory,
    postgres_server: servers.PostgresServer,
) -> Iterator[Cluster]:
    folder = tmp_path_factory.mktemp("pods")
    sqlite = f"sqlite:///{folder / 'w.db'}"
    db = sqlite if request.param == "sqlite" else postgres_server.new_database()
    with cluster_on(db, kube, folder / "log") as cluster:
        yield cluster
