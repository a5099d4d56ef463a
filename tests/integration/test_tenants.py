"""Tenants: every route, for every role, with what is one's own and with what is another's.

The routes come from the server's own table, so that a new one cannot be forgotten. Whatever belongs
to the other tenant has `blue` in its name: no answer may say that word, unless the question did.
"""

import itertools
import json
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.hostile_memoh import MEMOH, NO_RUNTIME
from tests.hostile_pocketflow import POCKETFLOW
from tests.hostile_requests import BODIES
from tests.integration.link.workflows import chain
from tests.integration.tenants import NATIVE_TYPE, Json, World, made, settle
from windlass.server.app import NATIVE
from windlass.server.auth import ROLES, Who
from windlass.server.compat.memoh import routes as memoh
from windlass.server.compat.pocketflow import routes as pocketflow
from windlass.server.routes import Route
from windlass.testing import servers
from windlass.testing.processes import ServerProcess, started

ADMIN = "tenant-admin-token"
TENANTS = ("red", "blue")
STREAMS = ("/api/v1/stream", "/api/v1/events", "/orchestration/runs/{run_id}/watch")
OWN_HOUSE = {  # who may do these is not a question of whose they are
    "POST /api/v1/auth/login",
    "POST /api/v1/auth/refresh",
    "POST /api/v1/tenants",
    "GET /api/v1/tenants",
    "PATCH /api/v1/tenants/{name}",
}
ROUTES = [*NATIVE, *memoh.ROUTES, *pocketflow.ROUTES]


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def world(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    postgres_server: servers.PostgresServer,
) -> Iterator[World]:
    folder: Path = tmp_path_factory.mktemp("tenants")
    sqlite = f"sqlite:///{folder / 'windlass.db'}"
    db = sqlite if request.param == "sqlite" else postgres_server.new_database()
    data = ("--data-dir", str(folder / "files"))
    server = ServerProcess(db, "--admin-token", ADMIN, "--env-noop", *data, log=folder / "log")
    headers = {"Authorization": f"Bearer {ADMIN}", **NATIVE_TYPE}
    with started(server), httpx.Client(base_url=server.url, headers=headers, timeout=20) as http:
        tokens = {}
        for tenant, role in itertools.product(TENANTS, ROLES):
            body = {"name": f"{tenant}-{role}", "role": role, "tenant": tenant}
            tokens[tenant, role] = made(http.post("/api/v1/tokens", json=body))["token"]
        yield World(server.url, {tenant: settle(http, tenant) for tenant in TENANTS}, tokens)


WHAT = {
    "runs": "waiting",
    "scheduler": "waiting",
    "workers": "worker",
    "checkpoints": "checkpoint",
    "dead-letters": "letter",
    "workflows": "workflow",
    "users": "user",
    "tokens": "token",
    "views": "view",
    "bulk": "bulk",
    "resources": "resource",
    "pods": "attempt_id",
    "envs/resources": "place",
    "envs/sessions": "session",
    "envs/images": "image",
    "container-images": "image",
    "env-resources": "place",
}
NAMES = {"flows": "flow", "published-packages": "package", "packages": "package"}


def asked(route: Route, known: dict[str, str]) -> tuple[str, Json | None]:
    """A route's path and body, about what somebody has."""
    parts = route.path.removeprefix("/api/v1/").removeprefix("/orchestration/").split("/")
    kind = "/".join(parts[:2]) if parts[0] == "envs" else parts[0]
    of_held = parts[0] == "runs" and "approvals" in parts
    words = {
        "{id}": known["held"] if of_held else known.get(WHAT.get(kind, ""), "none"),
        "{name}": known.get(NAMES.get(kind, ""), "none"),
        "{task}": "a" if of_held else known["task"],
        "{number}": "1",
        "{version}": "1.0.0",
        "{tag}": "latest",
        "{role}": "worker",
        "{type}": "tools.run",
        "{upload_id}": known["upload_id"],
        "{attempt_id}": known["attempt_id"],
        "{run_id}": known["planned"],
        "{task_id}": f"{known['planned']}~plan.0~a.0",
        "{checkpoint_id}": known["question"],
        "{bot_id}": "bot",
        "{approval}": known["approval"],
        "{key}": f"bb.run.{known['planned']}.context.goal",
        "{approval_id}": known["approval_id"],
    }
    path = route.path
    for word, value in words.items():
        path = path.replace(word, value)
    if route in pocketflow.ROUTES:
        return pocket(route, path, known)
    name = f"{route.method} {route.path}"
    if name == "POST /api/v1/flows/{name}/versions":
        path = path.replace(known["flow"], "a-name-of-my-own")
    query = {
        "GET /api/v1/catalog/nodes/search": "q=tools",
    }.get(name)
    return f"{path}?{query}" if query else path, told(BODIES.get(name) or MEMOH.get(name), known)


def pocket(route: Route, path: str, known: dict[str, str]) -> tuple[str, Json | None]:
    run, attempt = f"task-{known['waiting']}", known["attempt_id"]
    plain = route.path.removeprefix("/api")
    if route.method == "GET":
        query = {
            "/flows/version": f"flow_id={known['flow_id']}",
            "/flows/version/get": f"id={known['version_id']}",
            "/tasks/get": f"id={run}",
            "/tasks/runs": f"task_id={run}",
            "/tasks/logs": f"run_id=run-{known['done']}&task_id={run}",
        }.get(plain, "")
        return f"{path}?{query}" if query else path, None
    body = told(POCKETFLOW.get(plain, POCKETFLOW.get(f"/workers{plain}", {})), known) or {}
    changes: dict[str, Json] = {
        "/tasks/run_once": {"id": run},
        "/tasks/cancel": {"id": run},
        "/tasks/signal": {"task_id": run},
        "/queue/complete": {"queue_id": f"q-{attempt}", "run_id": f"run-{attempt}"},
        "/queue/heartbeat": {
            "queue_ids": [f"q-{attempt}"],
            "token": "",
            "worker_id": known["worker"],
        },
        "/queue/update_run": {"run_id": f"run-{attempt}"},
    }
    return path, {**body, **changes.get(plain, {})}


def told(body: Json | None, known: dict[str, str]) -> Json | None:
    if body is None:
        return None
    text = json.dumps(body).replace("{flow_id}", known["flow_id"]).replace("hostile-good", "none")
    text = text.replace("{letter}", known["letter"])
    text = text.replace("none~1", known["attempt_id"]).replace("{waiting}", known["waiting"])
    return dict(json.loads(text))


def call(http: httpx.Client, route: Route, path: str, body: Json | None) -> tuple[int, str]:
    """What a route answers; of a stream, how it begins."""
    if route.path in STREAMS:
        with http.stream("GET", path) as answer:
            return answer.status_code, next(answer.iter_text(), "")
    if route.method in ("POST", "PUT", "PATCH"):
        answer = http.request(route.method, path, json={} if body is None else body)
    else:
        answer = http.request(route.method, path)
    return answer.status_code, answer.text


def state_of(world: World, tenant: str) -> Json:
    """All that a tenant has, as it stands; without what moves by itself."""
    with world.client(tenant, "admin") as http:
        lists = (
            *("/api/v1/runs", "/api/v1/flows", "/api/v1/checkpoints", "/api/v1/tokens"),
            *("/api/v1/users", "/api/v1/published-packages", "/api/v1/resources"),
            *("/api/v1/envs/resources", "/api/v1/envs/sessions"),
            *(
                "/api/v1/workflows",
                "/api/v1/dead-letters",
                "/api/v1/audit-events",
                "/api/v1/tenants",
            ),
        )
        found = {path: http.get(path, params={"q": ""}).json().get("items") for path in lists}
        workers = http.get("/api/v1/workers").json()["items"]
    found["workers"] = [(row["id"], row["services"]) for row in workers]
    return found


@pytest.mark.parametrize("role", ROLES)
def test_nobody_sees_or_changes_what_is_another_tenants(world: World, role: str) -> None:
    before = state_of(world, "blue")
    theirs = world.known["blue"]
    ids = ("waiting", "held", "placed", "user", "token", "resource", "place", "session")
    words = {"blue", *(theirs[name] for name in ids)}
    may = Who("somebody", role).may
    wrong: list[str] = []
    with world.client("red", role) as http:
        for route in ROUTES:
            name = f"{route.method} {route.path}"
            path, body = asked(route, theirs)
            status, text = call(http, route, path, body)
            sent = path + json.dumps(body)
            said = sorted(word for word in words if word in text and word not in sent)
            if said:
                wrong.append(f"{name} says {said}: {text:.200}")
            if status >= 500 and "no worker" not in text and name not in NO_RUNTIME:
                wrong.append(f"{name} answers {status}: {text:.200}")
            if name in OWN_HOUSE or route.role is None:
                continue
            if not may(route.role):
                if status != 403:
                    wrong.append(f"{name} answers {status} to a {role}")
            elif "{" in route.path and status < 300 and name not in GENTLE:
                wrong.append(f"{name} answers {status} about another's: {text:.200}")
    assert not wrong, "\n".join(wrong)
    assert state_of(world, "blue") == before


GENTLE = {
    "GET /orchestration/bots/{bot_id}/runs",
    # Names that are free for everybody, or asked about something that is not there at all.
    "POST /api/v1/flows/{name}/versions",
    "DELETE /api/v1/published-packages/{name}/tags/{tag}",
    "GET /api/v1/nodes/{type}",
}


@pytest.mark.parametrize("role", ROLES)
def test_everybody_reads_what_is_their_tenants(world: World, role: str) -> None:
    mine, may = world.known["red"], Who("somebody", role).may
    wrong: list[str] = []
    with world.client("red", role) as http:
        for route in ROUTES:
            name = f"{route.method} {route.path}"
            if route.method != "GET" or route.role is None or name in OWN_HOUSE:
                continue
            path, body = asked(route, mine)
            status, text = call(http, route, path, body)
            if "blue" in text:
                wrong.append(f"{name} says blue: {text:.200}")
            allowed = 200 if may(route.role) else 403
            if status != allowed and (allowed == 403 or name not in NOTHING_THERE):
                wrong.append(f"{name} answers {status} to a {role}: {text:.200}")
    assert not wrong, "\n".join(wrong)


NOTHING_THERE = {
    "GET /api/v1/runs/{id}/blackboard/{key}",
    "GET /api/v1/runs/{id}/blackboard/{key}/revisions",
    "GET /api/v1/pods/{id}",
    "GET /api/v1/envs/sessions/{id}/screenshot",
    "GET /api/v1/attempt-parameters/{attempt_id}",
    "GET /api/v1/workflows/{id}/preview",
    "GET /api/v1/users/me",
    "GET /api/v1/packages/{name}",
    # Private to who uploaded them.
    "GET /api/v1/resources/{id}",
    "GET /api/v1/resources/{id}/download",
    "GET /api/v1/resources/uploads/{upload_id}",
    "GET /api/v1/nodes/{type}",
    "GET /api/workers/allocate",
    "GET /api/allocate",
    "GET /workers/allocate",
    "GET /allocate",
}


def test_a_worker_gets_its_own_tenants_tasks_and_a_shared_one_everybodys(world: World) -> None:
    headers = {"Authorization": f"Bearer {ADMIN}", **NATIVE_TYPE}
    with (
        world.client("red", "operator") as red,
        world.client("blue", "worker") as blue,
        httpx.Client(base_url=world.url, headers=headers, timeout=20) as system,
    ):
        run = made(red.post("/api/v1/runs", json={"flow": "same-name"}))["id"]
        poll = {"services": ["work"], "slots": 5, "waitMs": 300}
        path = f"/api/v1/workers/{world.known['blue']['worker']}/exchange"
        assert made(blue.post(path, json=poll))["attempts"] == []
        body = {"id": "for-all", "transport": "pull", "services": ["work"], "capacity": 5}
        made(system.post("/api/v1/workers", json=body))
        found = made(system.post("/api/v1/workers/for-all/exchange", json={**poll, "waitMs": 5000}))
        assert [attempt["runId"] for attempt in found["attempts"]] == [run]


def test_metrics_name_the_workers_and_nodes_of_others_to_operators_only(world: World) -> None:
    with world.client("red", "admin") as red:
        assert "ws_conn_active" not in red.get("/metrics").text
    headers = {"Authorization": f"Bearer {ADMIN}"}
    assert "ws_conn_active" in httpx.get(f"{world.url}/metrics", headers=headers).text


def test_an_operator_of_the_system_names_a_tenant(world: World) -> None:
    headers = {"Authorization": f"Bearer {ADMIN}", **NATIVE_TYPE}
    with httpx.Client(base_url=world.url, headers=headers, timeout=20) as system:
        names = [row["name"] for row in made(system.get("/api/v1/tenants"))["items"]]
        assert names == ["blue", "default", "red"]
        run = f"/api/v1/runs/{world.known['blue']['waiting']}"
        assert system.get(run).status_code == 404
        assert made(system.get(run, headers={"Windlass-Tenant": "blue"}))["params"] == {
            "who": "blue"
        }
        unknown = system.get(run, headers={"Windlass-Tenant": "green"})
        assert unknown.status_code == 404
        assert "windlass tenant create" in unknown.text
        odd = system.get(run, headers={"Windlass-Tenant": "No Such/Name"})
        assert odd.status_code == 400
    with world.client("red", "admin") as red:
        assert red.get(run, headers={"Windlass-Tenant": "blue"}).status_code == 403
        assert red.get("/api/v1/tenants").status_code == 403
        elsewhere = {"name": "spy", "role": "viewer", "tenant": "blue"}
        assert red.post("/api/v1/tokens", json=elsewhere).status_code == 403
        assert red.post("/api/v1/tokens", json={**elsewhere, "tenant": "*"}).status_code == 403


@pytest.mark.parametrize("path", STREAMS)
def test_a_stream_tells_of_its_own_tenant(world: World, path: str) -> None:
    with (
        world.client("red", "operator") as red,
        world.client("blue", "operator") as blue,
        red.stream("GET", path) as stream,
    ):
        lines = stream.iter_lines()
        next(lines)
        for http, tenant in ((blue, "blue"), (red, "red")):
            package = world.known[tenant]["package"]
            workflow = chain(f"{tenant}-live", "tools.run", package=package)
            body = {"workflow": workflow, "clientId": tenant, "tags": {"team": tenant}}
            made(http.post("/api/v1/runs", json=body))
        seen: list[str] = []
        for line in lines:
            seen.append(line)
            if "red" in line:
                break
        assert "blue" not in "\n".join(seen)


def test_an_attempts_own_token_opens_nothing_to_a_worker_of_another_tenant(world: World) -> None:
    theirs = world.known["blue"]
    lease = {"attemptId": theirs["in_place"], "token": theirs["in_place_token"]}
    at = f"/api/v1/workers/{world.known['red']['worker']}"
    call = {**lease, "callId": "c"}
    asked: list[tuple[str, Json]] = [
        ("env/read", {**call, "path": "a"}),
        ("env/write", {**call, "path": "a", "data": "YQ=="}),
        ("env/exec", {**call, "command": ["cat", "a"]}),
        ("env/snapshot", call),
        ("actions", {**call, "tool": "look", "effect": "external_read", "args": {}}),
        ("blackboard", {**lease, "key": "note", "value": 1}),
        ("blackboard/read", {**lease, "key": "note"}),
    ]
    said: list[str] = []
    with world.client("red", "worker") as red:
        for path, body in asked:
            answer = red.post(f"{at}/{path}", json=body)
            if answer.status_code not in (403, 404, 409):
                said.append(f"{path} answers {answer.status_code}: {answer.text:.200}")
        result = {**lease, "output": {"by": "red"}}
        poll = {"services": [], "slots": 0, "results": [result], "renew": [theirs["in_place"]]}
        told = made(red.post(f"{at}/exchange", json=poll))
    assert [receipt["status"] for receipt in told["results"]] == ["stale"]
    assert told["lost"] == [theirs["in_place"]]
    with world.client("blue", "viewer") as blue:
        run = blue.get(f"/api/v1/runs/{theirs['placed']}").json()
    assert run["state"] == "running"
    assert not said, "\n".join(said)
