"""Workers and workflows of AstraFlow itself, frame by frame as its documents and code have them."""

from typing import Any

import pytest

from tests.integration.astraflow.conftest import until
from tests.integration.link.conftest import TOKEN, LinkServer, connected
from tests.integration.link.independent import FirstGeneration, SecondGeneration

pytestmark = pytest.mark.anyio

Json = dict[str, Any]


def results(*words: str) -> Json:
    return {
        "type": "object",
        "properties": {
            "status": {"type": "string", "enum": list(words)},
            "reason": {"type": "string"},
            "value": {"type": "string"},
        },
        "required": ["status"],
    }


def manifest_node(type_: str, *words: str, **parameters: Json) -> Json:
    return {
        "type": type_,
        "status": "published",
        "category": "example",
        "label": type_,
        "adapter": "main",
        "handler": type_.rpartition(".")[2],
        "schema": {
            "parameters": {"type": "object", "properties": parameters},
            "results": results(*words),
        },
        "ui": {
            "outputPorts": [
                {"key": "value", "label": "Value", "binding": {"path": "/results/value"}}
            ],
            "inputPorts": [{"key": "in", "label": "In", "binding": {"path": "/parameters/in"}}],
        },
    }


EXAMPLE: Json = {
    "schemaVersion": "1.0.0",
    "name": "example.pkg",
    "version": "1.0.0",
    "description": "The example package.",
    "adapters": [{"name": "main", "entrypoint": "adapters.main", "capabilities": ["example"]}],
    "python": {"requires": ">=3.11"},
    "nodes": [
        manifest_node("example.pkg.echo", "succeeded", "failed", count={"type": "integer"}),
        manifest_node("example.pkg.debug_gate", "allowed", "blocked"),
        manifest_node("example.pkg.collect_metrics", "reported", "failed"),
    ],
}
"""As the original's own example package: each handler has words of its own for its status."""


class Second(SecondGeneration):
    """Reports its manifests, and results as the original's encoder writes them: every optional
    field is there, null where it has nothing."""

    outcome: Json

    def __init__(self, server: LinkServer, name: str = "original", **outcome: Any) -> None:
        super().__init__(server.url, name, [("example.pkg", "1.0.0")], token=TOKEN)
        self.outcome = outcome
        self.acks_heard: list[Json] = []
        self.dispatches: list[Json] = []

    async def send(self, frame: Json) -> None:
        if frame["type"] == "control.register":
            manifest = {"name": "example.pkg", "version": "1.0.0", "manifest": EXAMPLE}
            frame["payload"]["manifests"] = [manifest]
        await super().send(frame)

    async def receive(self, frame: Json) -> None:
        if frame["type"] == "control.ack":
            self.acks_heard.append(frame["payload"])
        await super().receive(frame)

    async def work(self, dispatch: Json) -> Json:
        self.dispatches.append(dispatch)
        return {
            "run_id": dispatch["run_id"],
            "task_id": dispatch["task_id"],
            "status": "SUCCEEDED",
            "result": {"value": "v", "reason": None},
            "duration_ms": 3,
            "metadata": {"concurrency_key": dispatch["concurrency_key"], "handler": "own"},
            "artifacts": None,
            "error": None,
            **self.outcome,
        }


def node(id_: str, type_: str, **parameters: Any) -> Json:
    return {
        "id": id_,
        "type": f"example.pkg.{type_}",
        "package": {"name": "example.pkg", "version": "1.0.0"},
        "status": "published",
        "category": "example",
        "label": id_,
        "position": {"x": 0, "y": 0},
        "parameters": parameters,
    }


def workflow(nodes: list[Json], *edges: tuple[str, str, str, str]) -> Json:
    return {
        "id": "demo-workflow",
        "schemaVersion": "2025-10",
        "metadata": {"name": "Demo"},
        "nodes": nodes,
        "edges": [
            {
                "id": f"e{at}",
                "source": {"node": source, "port": out},
                "target": {"node": target, "port": into},
            }
            for at, (source, out, target, into) in enumerate(edges)
        ],
    }


async def test_the_originals_example_package_succeeds(server: LinkServer) -> None:
    nodes = [node("node-1", "echo"), node("node-2", "debug_gate"), node("n3", "collect_metrics")]
    made = workflow(nodes, ("node-1", "value", "node-2", "in"), ("node-2", "done", "n3", "go"))
    async with connected(Second(server)) as worker:
        run = await server.wait(await server.start(made))
    assert run["status"] == "succeeded", run
    by_id = {n["nodeId"]: n for n in run["nodes"]}
    assert by_id["node-1"]["result"] == {"value": "v", "reason": None}
    assert by_id["node-1"]["metadata"]["handler"] == "own"
    assert by_id["node-1"]["metadata"]["warnings"] == ['results: "status" is a required property']
    assert isinstance(worker, Second)
    given = {d["node_id"]: d["parameters"] for d in worker.dispatches}
    assert given == {"node-1": {}, "node-2": {"in": "v"}, "n3": {}}
    attempts = await server.http.get(f"/api/v1/runs/{run['runId']}/attempts")
    assert attempts.json()["items"][0]["warnings"]


async def test_templates_and_odd_edges_are_warnings_of_the_validator(server: LinkServer) -> None:
    made = workflow(
        [node("node-1", "echo", count="{{nodes.fetch.count}}"), node("node-2", "echo")],
        ("node-1", "nowhere", "node-2", "in"),
    )
    async with connected(Second(server)) as worker:
        body = {"definition": made, "dialect": "workflow"}
        answer = await server.http.post("/api/v1/flows/validate", json=body)
        assert answer.status_code == 200, answer.text
        paths = {w["path"] for w in answer.json()["warnings"]}
        run = await server.wait(await server.start(made))
    assert {"nodes[0].parameters.count", "edges[0].source.port", "id"} <= paths
    assert run["status"] == "succeeded", run
    assert isinstance(worker, Second)
    assert worker.dispatches[0]["parameters"] == {"count": "{{nodes.fetch.count}}"}


@pytest.mark.parametrize("server_args", [("--strict-workflows",)])
async def test_a_setting_refuses_what_would_be_a_warning(server: LinkServer) -> None:
    async with connected(Second(server)):
        body = {"workflow": workflow([node("node-1", "echo")]), "clientId": "c"}
        answer = await server.http.post("/api/v1/runs", json=body)
    assert answer.status_code == 422


async def test_a_workflow_of_the_first_generation_runs_on_a_worker_of_it(
    server: LinkServer,
) -> None:
    worker = FirstGeneration(server.url, "first", [("demo", "1.0.0")], token=TOKEN)
    made = workflow([{**node("node-1", "echo"), "package": {"name": "demo", "version": "1.0.0"}}])
    async with connected(worker):
        run = await server.wait(await server.start(made))
        kept = await server.http.post("/api/v1/workflows", json=made)
        assert kept.status_code in (200, 201), kept.text
        found = await server.http.get("/api/v1/workflows/demo-workflow")
    assert run["status"] == "succeeded"
    assert found.json() == made


async def test_a_failures_cause_among_the_results_is_shown(server: LinkServer) -> None:
    failing = Second(server, status="FAILED", result={"error": "no such page"})
    async with connected(failing):
        run = await server.wait(await server.start(workflow([node("node-1", "echo")])))
    assert run["status"] == "failed"
    assert run["error"]["message"] == "no such page"
    assert run["nodes"][0]["error"]["message"] == "no such page"


async def test_an_acknowledgement_says_why_as_text(server: LinkServer) -> None:
    async with connected(Second(server)) as worker:
        assert isinstance(worker, Second)
        frame = worker.envelope("biz.exec.surprise", {}, ack={"request": True})
        await worker.send(frame)
        await until(lambda: any(ack.get("ok") is False for ack in worker.acks_heard))
    [refusal] = [ack for ack in worker.acks_heard if ack.get("ok") is False]
    assert refusal["info"].startswith("E.CMD.UNKNOWN: ")
    infos = [ack["info"] for ack in worker.acks_heard if ack.get("info") is not None]
    assert all(isinstance(info, str) for info in infos)
