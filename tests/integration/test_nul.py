"""Texts with a NUL, which no database keeps: refused in plain words, the same over either store."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.integration.conftest import TOKEN
from windlass.testing.processes import ServerProcess, started

NUL = "a\0b"
FLOW = {"start": "a", "nodes": {"a": {"exec_type": "queue", "service": "s"}}}
ADDRESSES = [
    "/api/flows/version?flow_id=a%00b",
    "/api/flows/version/get?id=a%00b",
    "/api/tasks?flow_version_id=a%00b",
    "/api/tasks/get?id=a%00b",
    "/api/tasks/runs?task_id=a%00b",
    "/api/v1/workflows?q=a%00b",
    "/api/v1/workflows?cursor=a%00b",
    "/api/v1/workflows/a%00b",
    "/api/v1/runs?q=a%00b",
]
BODIES: list[tuple[str, dict[str, Any]]] = [
    ("/api/flows", {"Name": "y", "Description": NUL}),
    ("/api/flows", {"Name": NUL}),
    ("/api/flows/version", {"FlowID": NUL, "DefinitionJSON": FLOW}),
    ("/api/flows/version", {"FlowID": "FLOW", "DefinitionJSON": FLOW, "Status": NUL}),
    ("/api/workers/register", {"ID": NUL, "URL": "http://127.0.0.1:1", "Services": ["s"]}),
    ("/api/workers/register", {"ID": "w", "URL": "http://127.0.0.1:1", "Services": [NUL]}),
    ("/api/workers/heartbeat", {"ID": NUL, "URL": "queue"}),
    ("/api/tasks", {"FlowID": NUL}),
    ("/api/tasks", {"FlowID": "FLOW", "Version": 1, "request_id": NUL}),
    ("/api/tasks/signal", {"task_id": NUL, "key": "k", "value": 1}),
    ("/api/queue/poll", {"worker_id": NUL, "services": ["s"]}),
    ("/api/queue/complete", {"queue_id": NUL}),
    ("/api/v1/flows/z/versions", {"definition": FLOW, "description": NUL}),
]


@pytest.fixture(scope="module")
def http(module_database: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    log = Path(tmp_path_factory.mktemp("nul")) / "server.log"
    server = ServerProcess(module_database, "--admin-token", TOKEN, log=log)
    headers = {"Authorization": f"Bearer {TOKEN}"}
    with started(server), httpx.Client(base_url=server.url, headers=headers, timeout=30) as client:
        yield client
    assert "Traceback" not in log.read_text()


@pytest.fixture(scope="module")
def flow(http: httpx.Client) -> str:
    made = http.post("/api/flows", json={"Name": "nul"})
    assert made.status_code == 200, made.text
    flow = str(made.json()["id"])
    version = {"FlowID": flow, "Version": 1, "DefinitionJSON": FLOW}
    assert http.post("/api/flows/version", json=version).status_code == 200
    return flow


def check_refused(answer: httpx.Response) -> None:
    assert answer.status_code == 400, answer.text
    assert "NUL" in answer.text
    assert "cannot be stored" not in answer.text


@pytest.mark.parametrize("address", ADDRESSES)
def test_an_address_with_a_nul_is_refused(http: httpx.Client, address: str) -> None:
    check_refused(http.get(address))


@pytest.mark.parametrize(("path", "body"), BODIES)
def test_a_text_with_a_nul_is_refused(
    http: httpx.Client, flow: str, path: str, body: dict[str, Any]
) -> None:
    named = {name: flow if value == "FLOW" else value for name, value in body.items()}
    check_refused(http.post(path, json=named))


def test_values_may_hold_one_as_json_writes_it(http: httpx.Client, flow: str) -> None:
    task = {"FlowID": flow, "Version": 1, "ParamsJSON": {"k": NUL}}
    assert http.post("/api/tasks", json=task).status_code == 200
    job = http.post("/api/queue/poll", json={"worker_id": "w", "services": ["s"]}).json()
    done = {"queue_id": job["id"], "token": job["token"], "result": NUL}
    assert http.post("/api/queue/complete", json=done).status_code == 200
