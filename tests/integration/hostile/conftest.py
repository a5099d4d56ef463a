"""One server for each database, with good workers beside the bad ones."""

from collections.abc import Iterator

import pytest

from tests.integration.hostile.world import FLOWS, TOKEN, Queues, World
from windlass.testing import servers
from windlass.testing.processes import ServerProcess, started, wait_until, worker_process


@pytest.fixture(scope="package", params=["sqlite", "postgres"])
def world(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    postgres_server: servers.PostgresServer,
    nats_server: servers.NatsServer,
    redis_server: servers.RedisServer,
) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("hostile")
    sqlite = f"sqlite:///{folder / 'windlass.db'}"
    db = sqlite if request.param == "sqlite" else postgres_server.new_database()
    log = folder / "server.log"
    data = ("--data-dir", str(folder / "files"))
    prefix = f"hostile-{request.param}"
    facts = ("--facts", nats_server.url, "--bus-prefix", prefix, "--redis", redis_server.url)
    server = ServerProcess(
        db, "--admin-token", TOKEN, "--lease-s", "3", "--env-noop", *data, *facts, log=log
    )
    push = worker_process("builtin", server.url, "push", "--id", "w-push", token=TOKEN)
    pull = worker_process("builtin", server.url, "pull", "--id", "w-pull", token=TOKEN)
    with started(server, push, pull):
        found = World(server, log, Queues(nats_server.url, prefix, redis_server.url))
        with found.sync() as http:
            for name, flow in FLOWS.items():
                answer = http.post(f"/api/v1/flows/{name}/versions", json={"definition": flow})
                assert answer.status_code == 201, answer.text

            def both_here() -> bool:
                items = http.get("/api/v1/workers").json()["items"]
                return {"w-push", "w-pull"} <= {item["id"] for item in items}

            wait_until(both_here)
        yield found
