"""Clients hear of their own runs, of all workers, and go on where they were cut off."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest

from tests.integration.astraflow.conftest import foreign, until
from tests.integration.link.conftest import LinkServer, connected
from tests.integration.link.workflows import chain, uuid

pytestmark = pytest.mark.anyio

Json = dict[str, Any]


class Listener:
    """Reads a stream and keeps what it said."""

    def __init__(self) -> None:
        self.events: list[Json] = []
        self.places: list[str] = []
        self.connected = asyncio.Event()

    async def listen(self, answer: httpx.Response) -> None:
        place = ""
        async for line in answer.aiter_lines():
            self.connected.set()
            name, _, value = line.partition(": ")
            if name == "id":
                place = value
            elif name == "data":
                self.events.append(json.loads(value))
                self.places.append(place)

    def of(self, type_: str) -> list[Json]:
        return [event for event in self.events if event["type"] == type_]

    def about(self, run_id: str) -> list[Json]:
        return [event for event in self.events if event["scope"].get("runId") == run_id]


@asynccontextmanager
async def listening(server: LinkServer, client: str, last_id: str = "") -> AsyncIterator[Listener]:
    headers = {"Last-Event-ID": last_id} if last_id else {}
    query = {"clientSessionId": client} if client else {}
    found = Listener()
    async with server.http.stream("GET", "/api/v1/events", params=query, headers=headers) as answer:
        assert answer.status_code == 200
        task = asyncio.ensure_future(found.listen(answer))
        await asyncio.wait_for(found.connected.wait(), 10)
        try:
            yield found
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


async def test_a_client_hears_how_its_run_goes_node_by_node(server: LinkServer) -> None:
    async with connected(foreign(server)), listening(server, "me") as heard:
        run_id = await server.start(chain("told", "demo.a", "demo.b"), "me")
        await until(lambda: heard.of("run.snapshot"))
    statuses = [event["data"]["status"] for event in heard.of("run.status")]
    assert statuses == ["running", "succeeded"]
    first = [e["data"] for e in heard.of("node.status") if e["data"]["nodeId"] == uuid("told-0")]
    assert [data["status"] for data in first] == ["queued", "dispatching", "completed"]
    assert first[1]["workerName"] == "foreign"
    assert first[1]["ackPending"] is True
    results = heard.of("node.result.snapshot")
    assert [event["data"]["nodeId"] for event in results] == [uuid("told-0"), uuid("told-1")]
    assert results[0]["data"]["content"]["echo"] == {"name": "told-0"}
    assert results[0]["data"]["complete"] is True
    [snapshot] = heard.of("run.snapshot")
    assert snapshot["data"]["run"]["status"] == "succeeded"
    assert len(snapshot["data"]["nodes"]) == 2
    for event in heard.about(run_id):
        assert event["version"] == "v1"
        assert event["scope"]["clientSessionId"] == "me"
        assert event["data"]["kind"] == event["type"]
        assert event["occurredAt"].endswith("Z")
    ids = [event["id"] for event in heard.events]
    assert len(ids) == len(set(ids))


async def test_nobody_hears_of_the_runs_of_others_live_or_replayed(server: LinkServer) -> None:
    async with connected(foreign(server)):
        async with listening(server, "me") as me, listening(server, "you") as you:
            mine = await server.start(chain("mine", "demo.a"), "me")
            yours = await server.start(chain("yours", "demo.a"), "you")
            await until(lambda: me.of("run.snapshot") and you.of("run.snapshot"))
        assert me.about(mine)
        assert not me.about(yours)
        assert not you.about(mine)
        first = next(
            p for p, e in zip(me.places, me.events, strict=True) if e["type"] == "run.status"
        )
        async with listening(server, "me", first) as again:
            await until(lambda: again.of("run.snapshot"))
        assert not again.about(yours)
        # Somebody else's place leads nowhere near their runs.
        async with listening(server, "you", first) as spy:
            await until(lambda: spy.of("run.snapshot"))
        assert not spy.about(mine)


async def test_a_stream_of_nobody_in_particular_tells_of_all_runs(server: LinkServer) -> None:
    async with connected(foreign(server)):
        async with listening(server, "") as all_:
            mine = await server.start(chain("mine", "demo.a"), "me")
            yours = await server.start(chain("yours", "demo.a"), "you")
            await until(lambda: len(all_.of("run.snapshot")) == 2)
        clients = {run_id: all_.about(run_id)[0]["scope"] for run_id in (mine, yours)}
        assert clients[mine]["clientSessionId"] == "me"
        assert clients[yours]["clientSessionId"] == "you"
        first = next(
            p for p, e in zip(all_.places, all_.events, strict=True) if e["type"] == "run.status"
        )
        async with listening(server, "", first) as again:
            await until(lambda: len(again.of("run.snapshot")) == 2)
        assert again.about(mine)
        assert again.about(yours)


async def test_a_stream_goes_on_where_it_was_cut(server: LinkServer) -> None:
    gate = asyncio.Event()

    async def held(dispatch: Json) -> Json:
        if dispatch["node_type"] == "demo.b":
            await gate.wait()
        return {"echo": dispatch["parameters"]}

    worker = foreign(server, handler=held)
    async with connected(worker):
        async with listening(server, "me") as before:
            run_id = await server.start(chain("cut", "demo.a", "demo.b"), "me")
            await until(lambda: before.of("node.result.snapshot"))
        place = before.places[before.events.index(before.of("node.result.snapshot")[0])]
        gate.set()
        await server.wait(run_id)
        async with listening(server, "me", place) as after:
            await until(lambda: after.of("run.snapshot"))
    told = {event["id"] for event in before.about(run_id)}
    missed = [event for event in after.about(run_id) if event["id"] not in told]
    assert missed
    assert all(event["replayed"] for event in after.about(run_id))
    kinds = [event["type"] for event in after.about(run_id)]
    assert kinds.count("node.result.snapshot") == 1
    assert after.of("run.status")[-1]["data"]["status"] == "succeeded"


async def test_a_place_from_before_a_restart_still_leads_on(server: LinkServer) -> None:
    worker = foreign(server)
    async with connected(worker):
        async with listening(server, "me") as before:
            run_id = await server.start(chain("boot", "demo.a"), "me")
            await until(lambda: before.of("run.snapshot"))
        server.process.stop()
        await asyncio.to_thread(server.process.start)
        first = before.places[before.events.index(before.about(run_id)[0])]
        async with listening(server, "me", first) as after:
            await until(lambda: after.of("run.snapshot"))
    ids = [event["id"] for event in before.about(run_id)]
    assert [event["id"] for event in after.about(run_id)] == ids[1:]


async def test_a_new_stream_begins_with_how_open_runs_stand(server: LinkServer) -> None:
    body = {"workerId": "silent", "packages": ["demo@1.0.0"]}
    await server.http.post("/api/workers/register", json=body)
    run_id = await server.start(chain("open", "demo.a"), "me")
    async with listening(server, "me") as heard:
        [snapshot] = await until(lambda: heard.of("run.snapshot"))
    assert snapshot["data"]["run"]["runId"] == run_id
    assert snapshot["data"]["run"]["status"] == "running"
    assert snapshot["replayed"] is False


async def test_progress_and_pieces_of_results_are_told_at_once(server: LinkServer) -> None:
    worker = foreign(server)

    async def say(**feedback: Any) -> None:
        seq, worker.next_seq = worker.next_seq, worker.next_seq + 1
        await worker.send(worker.envelope("biz.exec.feedback", feedback, session_seq=seq))

    async def chatty(dispatch: Json) -> Json:
        about = {"run_id": dispatch["run_id"], "task_id": dispatch["task_id"]}
        await say(**about, stage="thinking", progress=0.5, message="half")
        await say(
            **about, chunks=[{"channel": "llm", "text": "to"}, {"channel": "llm", "text": "ken"}]
        )
        await say(**about, metadata={"results": {"draft": "x"}})
        await asyncio.sleep(0.3)
        return {"echo": 1}

    worker.handler = chatty
    async with connected(worker), listening(server, "me") as heard, listening(server, "you") as you:
        run_id = await server.start(chain("chatty", "demo.a"), "me")
        await until(lambda: heard.of("run.snapshot"))
    [state] = heard.of("node.state")
    assert state["data"]["state"]["stage"] == "thinking"
    assert state["data"]["state"]["progress"] == 0.5
    deltas = [event["data"] for event in heard.of("node.result.delta")]
    assert [(d["operation"], d["path"]) for d in deltas] == [
        ("append", "/channels/llm"),
        ("append", "/channels/llm"),
        ("replace", "/draft"),
    ]
    assert "".join(d["payload"]["text"] for d in deltas[:2]) == "token"
    sequences = [d["sequence"] for d in deltas]
    assert sequences == sorted(set(sequences))
    assert not you.about(run_id)


async def test_failures_and_cancellations_are_told(server: LinkServer) -> None:
    worker = foreign(server)
    work = worker.work

    async def failing(dispatch: Json) -> Json:
        result = await work(dispatch)
        problem = {"code": "E.RUNNER.FAILURE", "message": "no"}
        return {**result, "status": "FAILED", "result": {}, "error": problem}

    worker.work = failing  # type: ignore[method-assign]
    async with connected(worker), listening(server, "me") as heard:
        await server.start(chain("fails", "demo.a"), "me")
        await until(lambda: heard.of("run.snapshot"))
    [error] = heard.of("node.error")
    assert error["data"]["error"]["code"] == "E.RUNNER.FAILURE"
    assert [e["data"]["status"] for e in heard.of("run.status")][-1] == "failed"


async def test_everybody_hears_of_workers_and_commands(server: LinkServer) -> None:
    worker = foreign(server)
    async with listening(server, "anybody") as heard, connected(worker):
        await until(lambda: heard.of("worker.heartbeat"))
        at = "/api/v1/workers/foreign/commands"
        drained = (await server.http.post(at, json={"type": "undrain"})).json()
        body = {"type": "pkg.install", "name": "x", "version": "1.0.0", "url": "http://h/x"}
        asked = (await server.http.post(at, json=body)).json()
        seq, worker.next_seq = worker.next_seq, worker.next_seq + 1
        event = {"name": "x", "version": "1.0.0", "status": "failed", "details": {"message": "no"}}
        await worker.send(worker.envelope("biz.pkg.event", event, session_seq=seq))
        await until(lambda: heard.of("command.error"))
    assert heard.of("worker.heartbeat")[0]["data"]["connected"] is True
    assert heard.of("command.ack")[0]["data"]["commandId"] == drained["commandId"]
    assert heard.of("command.error")[0]["data"]["commandId"] == asked["commandId"]
    assert heard.of("command.error")[0]["data"]["error"]["message"] == "no"
    [package] = heard.of("worker.package")
    assert package["data"] == {
        "kind": "worker.package",
        "workerName": "foreign",
        "package": "x",
        "version": "1.0.0",
        "status": "failed",
        "message": "no",
    }
    assert package["scope"] == {"tenant": "default", "workerName": "foreign"}


async def test_a_stream_is_for_those_who_may_read(server: LinkServer) -> None:
    long = {"clientSessionId": "x" * 201}
    assert (await server.http.get("/api/v1/events", params=long)).status_code == 400
    async with httpx.AsyncClient(base_url=server.url) as anybody:
        query = {"clientSessionId": "x"}
        assert (await anybody.get("/api/v1/events", params=query)).status_code == 401
