"""One good request for every path that takes a body, so that each can be spoilt in turn.

The paths come from the server's own table: one that is new there and missing here fails the test
that goes through them.
"""

import random
from collections.abc import Iterator
from typing import Any, NamedTuple
from urllib.parse import quote

from tests.hostile_lists import LISTS
from tests.hostile_memoh import MEMOH, MEMOH_QUERY
from tests.hostile_plans import PLAN_FLOW, PLAN_WORKFLOW
from tests.hostile_pocketflow import FLOW, POCKETFLOW, POCKETFLOW_QUERY
from tests.hostile_values import NAMES, VALUES, definitions, spoilt, written
from tests.hostile_work import WORK
from tests.integration.link.workflows import chain
from windlass.server.app import NATIVE
from windlass.server.compat.astraflow import unserved
from windlass.server.compat.memoh import routes as memoh
from windlass.server.compat.pocketflow import routes as pocketflow
from windlass.server.routes import Route

Json = dict[str, Any]

_LINK_WORKER: Json = {
    "worker_name": "hostile-http",
    "hostname": "h",
    "version": "1",
    "capabilities": {
        "concurrency": {"max_parallel": 2, "per_node_limits": {"demo.a": 1}},
        "runtimes": ["python"],
        "features": ["x"],
    },
    "packages": [{"name": "evil", "version": "1.0.0", "status": "installed"}],
}

BODIES: dict[str, Json] = {
    **LISTS,
    **WORK,
    "POST /api/v1/flows/validate": {"definition": FLOW, "dialect": "flow"},
    "POST /api/v1/flows/{name}/versions": {
        "definition": FLOW,
        "description": "d",
        "status": "published",
        "dialect": "flow",
    },
    "POST /api/v1/workflows": chain("hostile-http", "demo.a", "demo.b"),
    "PUT /api/v1/workflows/{id}/preview": {"previewImage": "aGVsbG8="},
    "POST /api/v1/published-packages/{name}/transfer": {"ownerId": "somebody"},
    "PATCH /api/v1/published-packages/{name}/versions/{version}": {"status": "deprecated"},
    "PUT /api/v1/published-packages/{name}/tags/{tag}": {"version": "1.0.0"},
    "PATCH /api/v1/published-packages/{name}/visibility": {"visibility": "public"},
    "POST /api/v1/runs": {
        "flow": "hostile-good",
        "version": 0,
        "params": {"text": "x", "more": {"a": [1]}},
        "tags": {"team": "red"},
        "priority": 1,
        "requestId": "",
    },
    "POST /api/v1/runs/bulk": {"action": "cancel", "q": "flow:no-such-flow", "dryRun": True},
    "POST /api/v1/runs/{id}/cancel": {"reason": "r"},
    "POST /api/v1/runs/{id}/priority": {"priority": 5},
    "POST /api/v1/runs/{id}/hints": {
        "kind": "constraint_update",
        "summary": "s",
        "details": {"a": [1]},
        "task": "a",
    },
    "POST /api/v1/runs/{id}/tasks/{task}/cancel": {"reason": "r"},
    "POST /api/v1/runs/{id}/tasks/{task}/checkpoints": {
        "question": "Sure?",
        "options": [{"id": "y", "label": "Yes", "kind": "choice", "description": "d"}],
        "defaultAction": {"mode": "select_option", "option_id": "y"},
        "timeoutSeconds": 5,
        "severity": "low",
        "reasonCode": "r",
        "blocksRun": True,
    },
    "POST /api/v1/runs/{id}/tasks/{task}/approvals": {
        "effect": "external_irreversible",
        "reason": "it is right",
        "expiresInS": 60,
    },
    "POST /api/v1/runs/{id}/signal": {"key": "go", "value": {"a": 1}},
    "POST /api/v1/runs/{id}/fork": {"task": "a", "input": {"a": [1]}},
    "POST /api/v1/runs/{id}/retry": {"task": "a", "from": True, "dryRun": True},
    "POST /api/v1/workers": {
        "id": "hostile-pull",
        "transport": "pull",
        "services": ["evil"],
        "capacity": 1,
        "meta": {"caps": {"evil": 1}},
    },
    "POST /api/v1/workers/register": _LINK_WORKER,
    "POST /api/v1/workers/heartbeat": {
        "worker_name": "hostile-http",
        "healthy": True,
        "metrics": {"inflight": 0, "cpu_pct": 1.0, "latency_ms": 3},
    },
    "POST /api/v1/workers/{id}/commands": {
        "type": "pkg.uninstall",
        "name": "p",
        "version": "1.0.0",
        "url": "http://127.0.0.1:9/p.zip",
        "sha256": "ab" * 32,
        "reason": "r",
        "deadlineMs": 5,
    },
    "POST /api/v1/scheduler/runs/{id}/rebind": {"workerId": "victim", "reason": "r"},
    "POST /api/v1/checkpoints/{id}/resolve": {"answer": {"a": 1}, "note": "n"},
    "POST /api/v1/resources/uploads": {
        "filename": "f.txt",
        "sizeBytes": 10,
        "provider": "local",
        "mimeType": "text/plain",
        "sha256": "ab" * 32,
        "chunkSize": 5,
        "metadata": {"a": 1},
        "visibility": "private",
    },
    "POST /api/v1/resources/uploads/{upload_id}/complete": {"sha256": "ab" * 32},
    "POST /api/v1/auth/login": {"username": "nobody", "password": "wrong-password"},
    "POST /api/v1/users": {
        "username": "hostile",
        "password": "long-enough-password",
        "displayName": "H",
        "roles": ["viewer"],
    },
    "PATCH /api/v1/users/me": {"displayName": "me"},
    "POST /api/v1/users/{id}/password": {"password": "another-long-one", "currentPassword": "x"},
    "POST /api/v1/users/{id}/roles": {"role": "viewer"},
    "PATCH /api/v1/users/{id}/status": {"isActive": True},
    "POST /api/v1/dead-letters/replay": {
        "ids": ["{letter}"],
        "kind": "task",
        "run": "r",
        "flow": "f",
        "name": "n",
        "failureClass": "timeout",
        "before": 5,
        "all": True,
        "from": True,
        "cursor": "c",
        "dryRun": True,
    },
    "POST /api/v1/dead-letters/drop": {"ids": ["{letter}"], "name": "n"},
    "POST /api/v1/envs/resources": {
        "name": "hostile",
        "kind": "noop",
        "capacity": 1,
        "config": {"files": {"a": "b"}},
        "metadata": {"a": [1]},
        "status": "active",
    },
    "POST /api/v1/envs/images": {
        "name": "hostile",
        "sourceType": "dockerfile",
        "imageRef": "a",
        "dockerfile": "FROM scratch",
        "metadata": {"a": [1]},
    },
    "PATCH /api/v1/envs/resources/{id}": {
        "capacity": 2,
        "config": {},
        "metadata": {},
        "status": "disabled",
    },
    "POST /api/v1/envs/sessions/{id}/release": {"reason": "r"},
    "POST /api/v1/envs/sessions/{id}/exec": {
        "command": ["true"],
        "stdin": "aGk=",
        "workdir": "/",
        "env": {"A": "b"},
        "timeoutS": 5,
    },
    "PUT /api/v1/limit-rules": {
        "pattern": "bank:*",
        "max": 3,
        "rate": 50,
        "perS": 1,
        "burst": 2,
        "budget": None,
    },
    "POST /api/v1/tenants": {"name": "hostile", "description": "d", "weight": 2},
    "PATCH /api/v1/tenants/{name}": {"weight": 2},
    "POST /api/v1/tokens": {
        "name": "t",
        "role": "worker",
        "expiresInS": 60,
        "fingerprint": "cd" * 32,
        "workers": "hostile-*",
        "tenant": "",
    },
}
"""What each native path takes."""

_MORE: dict[str, list[Json]] = {
    "POST /api/v1/bulk": [
        {"act": act, "ids": ["{runs}"], "task": "a", "from": True, "reason": "r"}
        for act in ("retry", "rerun", "delete")
    ],
    "POST /api/v1/flows/{name}/versions": [{"definition": PLAN_FLOW}],
    "POST /api/v1/runs": [
        {"workflow": PLAN_WORKFLOW, "clientId": "c"},
        {
            "workflow": chain("hostile-run", "evil.a", "evil.b", package="evil"),
            "clientId": "c",
            "priority": 1,
            "tags": {"a": 1},
        },
    ],
    "POST /api/v1/flows/validate": [
        {"definition": chain("hostile-check", "demo.a", "demo.b"), "dialect": "workflow"}
    ],
}
_HEADERS = ("Idempotency-Key", "Last-Event-ID", "X-Request-ID", "If-None-Match", "Range", "Accept")
_TAKES_FILES = {"POST /api/v1/published-packages", "POST /api/v1/resources"}
_TAKES_NOTHING = {
    "POST /api/v1/runs/{id}/rerun",
    "POST /api/v1/bulk/{id}/stop",
    "POST /api/v1/auth/refresh",
    "POST /api/v1/envs/sessions/{id}/snapshots",
}


class Shot(NamedTuple):
    """One request, and what is odd about it."""

    what: str
    method: str
    path: str
    query: str = ""
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()


def shots(known: dict[str, str], seed: int, each: int) -> Iterator[Shot]:
    """Requests for every path of the four surfaces; `known` holds ids to fill in."""
    for route in (*NATIVE, *unserved.ROUTES):
        name = f"{route.method} {route.path}"
        seed += 1
        good = [BODIES[name]] if name in BODIES else []
        for body in [*good, *_MORE.get(name, [])]:
            for what, data in spoilt(filled(body, known), seed, each):
                yield Shot(f"{name}: {what}", route.method, path_of(route, known), body=data)
        yield from around(route, known, route.query, seed)
    for route in memoh.ROUTES:
        seed += 1
        name = f"{route.method} {route.path}"
        if route.method == "POST":
            for what, data in spoilt(filled(MEMOH[name], known), seed, each // 2):
                yield Shot(f"{name}: {what}", "POST", path_of(route, known), body=data)
        yield from around(route, known, MEMOH_QUERY, seed)
    for route in pocketflow.ROUTES:
        seed += 1
        path = route.path.removeprefix("/api")
        good_one = POCKETFLOW.get(path)
        if good_one is not None and route.method == "POST":
            for what, data in spoilt(filled(good_one, known), seed, each // 2):
                yield Shot(f"{route.path}: {what}", "POST", route.path, body=data)
        yield from around(route, known, POCKETFLOW_QUERY, seed)
    yield from yaml_shots(seed)
    yield from definition_shots(seed, each * 4)
    yield from address_shots()


def without_body() -> list[str]:
    """Paths that take a body and have none here."""
    named = [f"{r.method} {r.path}" for r in NATIVE if r.method in ("POST", "PUT", "PATCH")]
    parts = {"PUT /api/v1/resources/uploads/{upload_id}/parts/{number}"}
    return sorted({*named} - BODIES.keys() - _TAKES_FILES - _TAKES_NOTHING - parts)


def filled(value: Any, known: dict[str, str]) -> Any:
    """A body with the ids that stand for `{name}` in it."""
    if isinstance(value, dict):
        return {key: filled(part, known) for key, part in value.items()}
    if isinstance(value, list):
        return [filled(part, known) for part in value]
    if isinstance(value, str) and "{" in value:
        for name, word in known.items():
            value = value.replace(f"{{{name}}}", word)
    return value


def path_of(route: Route, known: dict[str, str]) -> str:
    """The path with ids that exist, where there are any."""
    kind = route.path.removeprefix("/api/v1/").split("/")[0]
    path = route.path.replace("{id}", known.get(kind, "none"))
    return str(filled(path, known)).replace("{", "").replace("}", "")


def around(
    route: Route, known: dict[str, str], query: tuple[str, ...], seed: int
) -> Iterator[Shot]:
    """The path itself, its query and its headers spoilt."""
    draw = random.Random(seed)
    name = f"{route.method} {route.path}"
    names = sorted(NAMES.items())
    body = b"{}" if route.method in ("POST", "PUT", "PATCH") else b""
    if "{" in route.path and route.method != "DELETE":
        for what, word in draw.sample(names, 5):
            path = route.path
            for part in route.path.split("/"):
                if part.startswith("{"):
                    path = path.replace(part, quote(word, safe="") or "-")
            good = BODIES.get(name)
            data = written(filled(good, known)) if good else body
            yield Shot(f"{name}: path {what}", route.method, path, body=data)
    path = path_of(route, known)
    if route.method != "GET":
        return
    for asked in query:
        for what, word in draw.sample(names, 4):
            yield Shot(f"{name}: {asked} {what}", "GET", path, f"{asked}={quote(word, safe='')}")
        yield Shot(f"{name}: {asked} bytes", "GET", path, f"{asked}=%ff%fe&{asked}=%ed%a0%80")
    for header in draw.sample(_HEADERS, 2):
        yield Shot(f"{name}: {header}", "GET", path, headers=((header, "9" * 3_000),))
        yield Shot(
            f"{name}: {header} odd", "GET", path, headers=((header, "bytes=-,\xff\xfe;q=x"),)
        )


FILTERS = (
    "status:,",
    "status:nonsense",
    "version:" + "9" * 400,
    "started:>" + "9" * 400,
    "started:>-" + "9" * 12 + "w",
    "started:>-999999999w",
    "tag:a=" + "x" * 3_000,
    'error:"' + "\\" * 50 + '"',
    "node:\0",
    "flow:" + "*" * 300,
    "-",
    ":",
    '"',
    "a " * 2_000,
)
CURSORS = (
    *("x" * 5_000, "eyJhIjoxfQ==", "WzFlOTk5XQ==", "WyJcdWQ4MDAiXQ==", "bnVsbA==", "W10=", "==="),
    *("W1tdLCBbXV0=", "WzE4NDQ2NzQ0MDczNzA5NTUxNjE2LCAiYSJd", "-1", "\0"),
)


def address_shots() -> Iterator[Shot]:
    """Filters, cursors and addresses with a grammar of their own."""
    for text in FILTERS:
        yield Shot(f"filter {text:.30}", "GET", "/api/v1/runs", f"q={quote(text)}")
        body = written({"action": "retry", "q": text, "dryRun": True})
        yield Shot(f"bulk filter {text:.30}", "POST", "/api/v1/runs/bulk", body=body)
    for route in NATIVE:
        if "cursor" in route.query and "{" not in route.path:
            for text in CURSORS:
                query = f"cursor={quote(text)}&limit=1"
                yield Shot(f"{route.path} cursor {text:.20}", "GET", route.path, query)
    for path in ("/assets/%00", "/%00", "/assets/..%2f..%2fetc%2fpasswd", "/%ff", "/api/v1/%00"):
        yield Shot(path, "GET", path)
    yield Shot("nul in an asset", "GET", "/assets/a%00.js")
    yield Shot("long asset", "GET", "/assets/" + "a" * 5_000)


def yaml_shots(seed: int) -> Iterator[Shot]:
    """YAML, with what only YAML can do."""
    texts = {
        "bomb": "a: &a [x,x,x,x,x,x,x,x,x]\n"
        + "".join(
            f"{c}: &{c} [{','.join(['*' + p] * 9)}]\n"
            for p, c in zip("abcdefgh", "bcdefghi", strict=True)
        ),
        "tag": "start: !!python/object/apply:os.system [id]\n",
        "loop": "a: &a\n  b: *a\n",
        "numbers": "start: a\nnodes: {a: {kind: timer, params: {delay_ms: " + "9" * 5_000 + "}}}\n",
        "infinity": "start: a\nnodes: {a: {kind: timer, params: {delay_ms: .inf}}}\n",
        "date": "start: 2020-01-01\nnodes: {2020-01-01: {}}\n",
        "keys": "start: a\nnodes: {? [a, b] : 1, 1: 2, null: 3, 1.5: 4}\n",
        "deep": "[" * 3_000,
        "deep flow": "{a: " * 3_000,
        "tabs": "\tstart: a",
        "documents": "---\nstart: a\n---\nstart: b\n",
        "nul": 'start: "a\\0b"\nnodes: {"a\\0b": {}}\n',
        "half": 'start: "\\ud800"\nnodes: {"\\ud800": {}}\n',
        "sexagesimal": "start: a\nnodes: {a: {timeout_ms: 190:20:30}}\n",
        "merge": "start: a\nnodes: {a: {<<: [1, 2]}}\n",
        "binary": "start: !!binary aGVsbG8=\n",
        "twice": "start: a\nstart: b\n",
    }
    headers = (("Content-Type", "application/yaml"),)
    for name, text in texts.items():
        for path in ("/api/v1/flows/validate", "/api/v1/flows/hostile-yaml/versions"):
            yield Shot(f"{path}: YAML {name}", "POST", path, body=text.encode(), headers=headers)
    for name, raw in VALUES.items():
        path = "/api/v1/flows/hostile-yaml/versions"
        yield Shot(f"{path}: YAML of {name}", "POST", path, body=raw, headers=headers)


def definition_shots(seed: int, count: int) -> Iterator[Shot]:
    """Odd definitions over both ways to publish one."""
    for number, (what, flow) in enumerate(definitions(seed, count)):
        path = f"/api/v1/flows/hostile-{number}/versions"
        yield Shot(f"definition {what}", "POST", path, body=written({"definition": flow}))
