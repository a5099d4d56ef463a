"""Workers and workflows of AstraFlow itself, frame by frame as its documents and code have them."""

import asyncio
import contextlib
import json
from typing import Any

import httpx
import pytest

from tests.integration.astraflow.conftest import until
from tests.integration.link.conftest import TOKEN, LinkServer, connected
from tests.integration.link.independent import FirstGeneration, SecondGeneration
from tests.packages import archive

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


@pytest.mark.parametrize("strict", [False, True])
async def test_an_optional_field_may_be_null(server: LinkServer, strict: bool) -> None:
    """The original's encoder writes every field; strictness is for what a field does hold."""
    said = {"status": "succeeded", "value": "v", "reason": None}
    made = workflow([node("node-1", "echo")])
    made["nodes"][0]["extensions"] = {"strictResults": strict}
    async with connected(Second(server, result=said)):
        run = await server.wait(await server.start(made))
    assert run["status"] == "succeeded", run
    assert run["nodes"][0]["result"] == said
    assert "warnings" not in run["nodes"][0]["metadata"]


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


# Events, middlewares, packages


def read_types(text: str) -> list[str]:
    return [line[7:] for line in text.splitlines() if line.startswith("event: ")]


async def listened(server: LinkServer, seconds: float) -> str:
    """What a fresh stream of the client tells within a while."""
    heard = ""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            query = {"clientSessionId": "tests"}
            async with server.http.stream("GET", "/api/v1/events", params=query) as stream:
                async for piece in stream.aiter_text():
                    heard += piece
    return heard


async def test_a_fresh_stream_does_not_replay_runs_that_ended_before_it(
    server: LinkServer,
) -> None:
    async with connected(Second(server)):
        before = await server.wait(await server.start(workflow([node("node-1", "echo")])))
        listening = asyncio.ensure_future(listened(server, 3))
        await asyncio.sleep(1.5)  # long enough for a look at what other processes did
        after = await server.wait(await server.start(workflow([node("node-1", "echo")])))
        heard = await listening
    assert after["runId"] in heard
    assert before["runId"] not in heard
    assert "run.snapshot" in read_types(heard)


class Chained(Second):
    """A middleware that lets its node run once, by `biz.exec.next.request`."""

    async def dispatched(self, frame: Json) -> None:
        dispatch = frame["payload"]
        if dispatch["chain_index"] == 0:
            request = {
                "requestId": "once",
                "runId": dispatch["run_id"],
                "nodeId": dispatch["node_id"],
                "middlewareId": dispatch["node_id"],
                "chainIndex": 0,
            }
            self.answered = asyncio.Event()
            ask = self.envelope(
                "biz.exec.next.request",
                request,
                corr=dispatch["task_id"],
                session_seq=self.next_seq,
            )
            self.next_seq += 1
            await self.send(ask)
            await asyncio.wait_for(self.answered.wait(), 10)
        said = {
            "run_id": dispatch["run_id"],
            "task_id": dispatch["task_id"],
            "message": f"said by {dispatch['node_id']}",
            "progress": 0.5,
        }
        told = self.envelope(
            "biz.exec.feedback", said, corr=dispatch["task_id"], session_seq=self.next_seq
        )
        self.next_seq += 1
        await self.send(told)
        await super().dispatched(frame)

    async def numbered(self, frame: Json, seq: int) -> None:
        await super().numbered(frame, seq)
        if frame["type"] == "biz.exec.next.response":
            assert frame["payload"]["result"] == {"value": "v", "reason": None}
            self.answered.set()


async def test_a_host_with_middlewares_shows_its_own_result_worker_and_feedback(
    server: LinkServer,
) -> None:
    gate = {**node("gate", "debug_gate"), "role": "middleware"}
    host = {**node("node-1", "echo"), "middlewares": [gate]}
    async with connected(Chained(server, "chained")):
        listening = asyncio.ensure_future(listened(server, 2))
        await asyncio.sleep(0.2)
        run = await server.wait(await server.start(workflow([host])))
        heard = await listening
    assert run["status"] == "succeeded", run
    shown = next(n for n in run["nodes"] if n["nodeId"] == "node-1")
    assert shown["result"] == {"value": "v", "reason": None}
    assert shown["workerName"] == "chained"
    assert shown["metadata"]["handler"] == "own"
    told = [json.loads(line[6:]) for line in heard.splitlines() if line.startswith("data: ")]
    mine = [one for one in told if one["data"].get("nodeId") == "node-1"]
    [result] = [one["data"] for one in mine if one["type"] == "node.result.snapshot"]
    assert result["content"] == {"value": "v", "reason": None}
    assert "chained" in {one["data"].get("workerName") for one in mine}
    states = [one["data"] for one in told if one["type"] == "node.state"]
    said = {(data["nodeId"], data["state"].get("message")) for data in states}
    assert said == {("node-1", "said by node-1"), ("gate", "said by gate")}


class Installer(Second):
    """Has nothing installed, says which frames it knows, and cannot unpack what it is sent."""

    def __init__(self, server: LinkServer) -> None:
        super().__init__(server, "installer")
        self.packages = []
        self.asked: list[Json] = []

    async def send(self, frame: Json) -> None:
        if frame["type"] == "control.register":
            known = ["biz.exec.dispatch", "biz.exec.result", "biz.pkg.install", "biz.pkg.event"]
            frame["payload"]["payload_types"] = known
        await SecondGeneration.send(self, frame)

    async def numbered(self, frame: Json, seq: int) -> None:
        await super().numbered(frame, seq)
        if frame["type"] == "biz.pkg.install":
            payload = frame["payload"]
            self.asked.append(payload)
            said = {
                "name": payload["name"],
                "version": payload["version"],
                "status": "failed",
                "details": {"message": "Unknown archive format"},
            }
            answer = self.envelope("biz.pkg.event", said, session_seq=self.next_seq)
            self.next_seq += 1
            await self.send(answer)


async def test_a_published_package_nobody_has_is_sent_at_once_and_why_tells_the_answer(
    server: LinkServer,
) -> None:
    files = {"file": ("tools.cwx", archive(), "application/zip")}
    published = await server.http.post("/api/v1/published-packages", files=files)
    assert published.status_code == 201, published.text
    made = workflow([node("node-1", "x")])
    made["nodes"][0] |= {"type": "tools.run", "package": {"name": "tools", "version": "1.0.0"}}
    async with connected(Installer(server)) as worker:
        assert isinstance(worker, Installer)
        run_id = await server.start(made)
        await until(lambda: worker.asked, 1.0)
        [asked] = worker.asked

        async def told() -> bool:
            why = await server.http.get(f"/api/v1/runs/{run_id}/why")
            return "could not install it: Unknown archive format" in why.text

        await until(told)
    assert (asked["name"], asked["version"]) == ("tools", "1.0.0")
    assert asked["url"].startswith("http")
    async with httpx.AsyncClient() as anybody:  # as its own download has it: without a token
        assert (await anybody.get(asked["url"])).content[:2] == b"PK"


# What its UI reads


async def test_a_worker_that_closed_its_link_is_not_connected_within_a_second(
    server: LinkServer,
) -> None:
    async def shown() -> Any:
        return (await server.http.get("/api/v1/workers/original")).json()["connected"]

    async with connected(Second(server)):
        assert await shown() is True
    async with asyncio.timeout(1):
        while await shown():  # noqa: ASYNC110  it happens in another process
            await asyncio.sleep(0.02)


async def test_failures_have_the_codes_the_documents_name(server: LinkServer) -> None:
    failing = Second(server, status="FAILED", result={})
    async with connected(failing):
        run = await server.wait(await server.start(workflow([node("node-1", "echo")])))
        assert run["error"]["code"] == "E.RUNNER.FAILURE"
        slow = {**node("node-1", "echo"), "timeoutMs": 50}
    async with connected(Hanging(server, "hanging")):
        run = await server.wait(await server.start(workflow([slow])))
    assert run["error"]["code"] == "E.TIMEOUT"


class Hanging(Second):
    async def work(self, dispatch: Json) -> Json:
        await asyncio.Event().wait()
        return {}


async def test_what_there_is_nothing_behind_answers_501_with_a_reason(server: LinkServer) -> None:
    for method, path in (
        ("POST", "/workflows/demo/publish"),
        ("GET", "/workflow-packages"),
        ("POST", "/published-packages/gc"),
        ("GET", "/package-vault"),
        ("GET", "/hub/packages"),
    ):
        answer = await server.http.request(method, f"/api/v1{path}", json={})
        assert answer.status_code == 501, path
        assert answer.json()["message"], path
    async with httpx.AsyncClient() as anybody:
        refused = await anybody.get(f"{server.url}/api/v1/hub/packages")
    assert refused.status_code == 401


async def test_a_package_is_read_as_a_whole_and_handed_on(server: LinkServer) -> None:
    files = {"file": ("tools.cwx", archive(), "application/zip")}
    assert (await server.http.post("/api/v1/published-packages", files=files)).status_code == 201
    at = "/api/v1/published-packages/tools"
    known = (await server.http.get(f"{at}/registry")).json()
    assert known["versions"] == ["1.0.0"]
    moved = await server.http.post(f"{at}/transfer", json={"ownerId": "maria"})
    assert moved.json()["ownerId"] == "maria"
    assert (await server.http.get(f"{at}/registry")).json()["ownerId"] == "maria"
