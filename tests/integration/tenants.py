"""Two tenants with one of everything each, for tests of what they see of each other."""

import hashlib
from typing import Any, NamedTuple

import httpx

from tests.integration.link.workflows import chain
from tests.packages import archive

Json = dict[str, Any]
NATIVE_TYPE = {"Accept": "application/vnd.windlass+json, application/json"}


class World(NamedTuple):
    url: str
    known: dict[str, dict[str, str]]
    """By tenant: ids and names of what it has."""
    tokens: dict[tuple[str, str], str]
    """By tenant and role."""

    def client(self, tenant: str, role: str) -> httpx.Client:
        token = self.tokens[tenant, role]
        headers = {"Authorization": f"Bearer {token}", **NATIVE_TYPE}
        return httpx.Client(base_url=self.url, headers=headers, timeout=20)


def flow_of(tenant: str) -> Json:
    return {
        "start": "a",
        "nodes": {
            "a": {"exec_type": "queue", "service": "work", "post": {"output_key": f"{tenant}-out"}},
            "b": {
                "kind": "approval",
                "params": {"approval_key": "$shared.ok", "prompt": f"{tenant}?"},
            },
        },
        "edges": [{"from": "a", "to": "b"}],
    }


def made(answer: httpx.Response) -> Json:
    assert answer.is_success, f"{answer.request.method} {answer.request.url}: {answer.text}"
    found: Json = answer.json() if answer.content else {}
    return found


def settle(http: httpx.Client, tenant: str) -> dict[str, str]:
    """Give a tenant one of everything: all of it named after the tenant, much of it as others'."""
    known = {"flow": f"{tenant}-flow", "worker": f"{tenant}-worker", "package": f"{tenant}-pkg"}
    http.headers["Windlass-Tenant"] = tenant
    for name in (known["flow"], "same-name"):
        made(http.post(f"/api/v1/flows/{name}/versions", json={"definition": flow_of(tenant)}))
    made(
        http.post(
            "/api/v1/workers",
            json={"id": known["worker"], "transport": "pull", "services": ["work"], "capacity": 5},
        )
    )
    for state in ("waiting", "dead", "held"):
        body = {
            "flow": "same-name",
            "params": {"who": tenant},
            "tags": {"team": tenant},
            "requestId": f"same key {state}",
        }
        run = known[state] = made(http.post("/api/v1/runs", json=body))["id"]
        poll = {"services": ["work"], "slots": 1, "waitMs": 5000}
        exchange = f"/api/v1/workers/{known['worker']}/exchange"
        (attempt,) = made(http.post(exchange, json=poll))["attempts"]
        assert attempt["runId"] == run
        known["attempt_id"] = attempt["attemptId"]
        if state == "waiting":
            known["done"] = attempt["attemptId"]
            lease = {"attemptId": attempt["attemptId"], "token": attempt["token"]}
            result = {**lease, "output": {"secret": f"{tenant}-result"}, "log": f"{tenant}-log"}
            made(http.post(exchange, json={"services": [], "slots": 0, "results": [result]}))
        if state == "dead":
            lease = {"attemptId": attempt["attemptId"], "token": attempt["token"]}
            error = {"kind": "fatal", "message": f"{tenant} cannot"}
            result = {**lease, "error": error}
            made(http.post(exchange, json={"services": [], "slots": 0, "results": [result]}))
    settle_place(http, tenant, known)
    known["letter"] = made(http.get("/api/v1/dead-letters"))["items"][0]["id"]
    inbox = made(http.get("/api/v1/checkpoints"))["items"]
    task = {"alias": "a", "goal": tenant, "worker_profile": f"{tenant}-nobody"}
    goal = {"goal": tenant, "plan": {"tasks": [task]}, "idempotency_key": "same", "bot_id": "bot"}
    known["planned"] = made(http.post("/orchestration/runs", json=goal))["run_id"]
    at = f"/api/v1/runs/{known['planned']}/tasks/a/checkpoints"
    known["question"] = made(http.post(at, json={"question": f"{tenant}?"}))["id"]
    known["checkpoint"] = inbox[0]["id"]
    settle_approvals(http, tenant, known)
    known["task"] = made(http.get(f"/api/v1/runs/{known['waiting']}/tasks"))["items"][0]["id"]
    made(http.post("/api/v1/workflows", json={**chain(f"{tenant}-wf", "demo.a", "demo.b")}))
    known["workflow"] = made(http.get("/api/v1/workflows"))["items"][0]["id"]
    content = archive(name=known["package"])
    made(http.post("/api/v1/published-packages", files={"file": ("p.cwx", content)}))
    text = f"{tenant}-content".encode()
    sent = http.post("/api/v1/resources", files={"file": (f"{tenant}.txt", text)})
    known["resource"] = made(sent)["resourceId"]
    digest = hashlib.sha256(text).hexdigest()
    upload = {"filename": f"{tenant}-up.txt", "sizeBytes": len(text), "sha256": digest}
    known["upload_id"] = made(http.post("/api/v1/resources/uploads", json=upload))["uploadId"]
    user = {"username": f"{tenant}-user", "password": "long-enough-password", "roles": []}
    known["user"] = made(http.post("/api/v1/users", json=user))["userId"]
    made(http.put("/api/v1/limit-rules", json={"pattern": f"{tenant}-key", "max": 3}))
    token = {"name": f"{tenant}-token", "role": "viewer"}
    known["token"] = made(http.post("/api/v1/tokens", json=token))["id"]
    made(http.post("/flows", json={"Name": f"{tenant}-pocket", "Description": tenant}))
    view = {"name": f"{tenant}-view", "query": f"tag:team={tenant}", "shared": True}
    known["view"] = made(http.post("/api/v1/views", json=view))["id"]
    job = {"act": "retry", "ids": [f"{tenant}-none"]}
    known["bulk"] = made(http.post("/api/v1/bulk", json=job))["id"]
    known["flow_id"] = made(http.get(f"/api/v1/flows/{known['flow']}"))["id"]
    known["version_id"] = made(http.get(f"/api/v1/flows/{known['flow']}/versions/1"))["versionId"]
    del http.headers["Windlass-Tenant"]
    return known


def settle_approvals(http: httpx.Client, tenant: str, known: dict[str, str]) -> None:
    """Allow something in two runs of a tenant."""
    allowed = {"effect": "external_irreversible", "reason": tenant}
    for name, run in (("approval", "held"), ("approval_id", "planned")):
        at = f"/api/v1/runs/{known[run]}/tasks/a/approvals"
        known[name] = made(http.post(at, json=allowed))["id"]


def settle_place(http: httpx.Client, tenant: str, known: dict[str, str]) -> None:
    """Give a tenant a place, and an attempt that is in it."""
    place = {"name": f"{tenant}-place", "kind": "noop", "config": {"files": {"a": tenant}}}
    known["place"] = made(http.post("/api/v1/envs/resources", json=place))["id"]
    image = {"name": f"{tenant}-image", "sourceType": "registry", "imageRef": "127.0.0.1:1/a:1"}
    known["image"] = made(http.post("/api/v1/envs/images", json=image))["id"]
    made(http.post("/api/v1/envs/resources", json={**place, "name": "same-place"}))
    definition = flow_of(tenant)
    definition["nodes"]["a"]["env"] = "same-place"
    made(http.post("/api/v1/flows/in-place/versions", json={"definition": definition}))
    known["placed"] = made(http.post("/api/v1/runs", json={"flow": "in-place"}))["id"]
    exchange = f"/api/v1/workers/{known['worker']}/exchange"
    poll = {"services": ["work"], "slots": 1, "waitMs": 10_000}
    (attempt,) = made(http.post(exchange, json=poll))["attempts"]
    known["session"] = attempt["env"]["session_id"]
    known["in_place"], known["in_place_token"] = attempt["attemptId"], attempt["token"]
