"""Workflows are kept, listed and deleted; their runs are read in both shapes."""

import asyncio
from typing import Any

import pytest

from tests.integration.astraflow.conftest import foreign, token, until
from tests.integration.link.conftest import TOKEN, LinkServer, connected
from tests.integration.link.workflows import chain, node, uuid, workflow
from windlass.client import AsyncClient
from windlass.testing.processes import Process

pytestmark = pytest.mark.anyio

Json = dict[str, Any]
NATIVE = {"Accept": "application/vnd.windlass+json, application/json"}


async def listed(server: LinkServer, **query: Any) -> Any:
    answer = await server.http.get("/api/v1/runs", params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_runs_are_listed_oldest_first_by_status_and_client(server: LinkServer) -> None:
    async with connected(foreign(server)):
        first = [await server.start(chain("a", "demo.a"), "one") for _ in range(3)]
        other = await server.start(chain("a", "demo.a"), "two")
        for run_id in [*first, other]:
            await server.wait(run_id)
        waiting = await server.start(chain("b", "demo.a", "demo.b"), "one")
        await server.wait(waiting)
    mine = await listed(server, clientId="one")
    assert [run["runId"] for run in mine["items"]] == [*first, waiting]
    assert mine["nextCursor"] is None
    assert {run["clientId"] for run in mine["items"]} == {"one"}
    page = await listed(server, clientId="one", limit=2)
    assert [run["runId"] for run in page["items"]] == first[:2]
    assert page["nextCursor"] == first[1]
    rest = await listed(server, clientId="one", limit=2, cursor=page["nextCursor"])
    assert [run["runId"] for run in rest["items"]] == [first[2], waiting]
    assert len((await listed(server, status="succeeded"))["items"]) == 5
    assert (await listed(server, status="failed"))["items"] == []
    bad = await server.http.get("/api/v1/runs", params={"status": "asleep"})
    assert bad.status_code == 400
    everyones = await listed(server)
    assert [run["runId"] for run in everyones["items"]] == [*first, other, waiting]
    assert "nextCursor" in everyones
    native = (await server.http.get("/api/v1/runs", headers=NATIVE)).json()
    assert native["items"][0]["id"] == waiting
    assert "next" in native
    ours = await listed(server, q="status:succeeded")
    assert ours["items"][0]["id"] == waiting


async def test_a_definition_is_as_submitted_and_told_apart_by_its_etag(server: LinkServer) -> None:
    given = chain("etag", "demo.a")
    async with connected(foreign(server)):
        run_id = await server.start(given)
    at = f"/api/v1/runs/{run_id}/definition"
    answer = await server.http.get(at)
    assert answer.json() == given
    run = (await server.http.get(f"/api/v1/runs/{run_id}")).json()
    assert answer.headers["ETag"] == f'W/"sha256:{run["definitionHash"]}"'
    again = await server.http.get(at, headers={"If-None-Match": answer.headers["ETag"]})
    assert again.status_code == 304
    assert again.content == b""
    changed = await server.http.get(at, headers={"If-None-Match": 'W/"sha256:00"'})
    assert changed.status_code == 200


async def test_cancelling_answers_in_the_shape_the_caller_reads(server: LinkServer) -> None:
    body = {"workerId": "silent", "packages": ["demo@1.0.0"]}
    assert (await server.http.post("/api/workers/register", json=body)).status_code == 200
    runs = [await server.start(chain("stop", "demo.a")) for _ in range(2)]
    answer = await server.http.post(f"/api/v1/runs/{runs[0]}/cancel")
    assert answer.status_code == 202
    assert answer.json()["runId"] == runs[0]
    assert answer.json()["clientId"] == "tests"
    native = await server.http.post(f"/api/v1/runs/{runs[1]}/cancel", headers=NATIVE)
    assert native.json() == {"ok": True}
    for run_id in runs:
        assert (await server.wait(run_id))["status"] == "cancelled"
    assert (await server.http.post(f"/api/v1/runs/{runs[0]}/cancel")).status_code == 409


async def test_the_command_line_and_the_client_read_runs_of_workflows(
    server: LinkServer, tmp_path: Any
) -> None:
    async with connected(foreign(server)):
        run_id = await server.start(chain("shown", "demo.a"))
        await server.wait(run_id)
    log = tmp_path / "show.log"
    show = Process("run", "show", run_id, env={"WINDLASS_URL": server.url, "WINDLASS_TOKEN": TOKEN})
    show._log = log
    with show:
        assert await asyncio.to_thread(show.wait, 20) == 0
    assert "succeeded" in log.read_text()
    async with AsyncClient(server.url, TOKEN) as client:
        run = await client.run(run_id)
        assert run.state == "succeeded"
        assert run.info.flow == "shown"


async def test_a_key_used_for_another_workflow_is_refused(server: LinkServer) -> None:
    async with connected(foreign(server)):
        key = {"Idempotency-Key": "k-1"}
        first = await server.start(chain("key", "demo.a"), **key)
        assert await server.start(chain("key", "demo.a"), **key) == first
        body = {"workflow": chain("other", "demo.a"), "clientId": "tests"}
        other = await server.http.post("/api/v1/runs", json=body, headers=key)
        assert other.status_code == 409
        long = {"Idempotency-Key": "k" * 65}
        assert (await server.http.post("/api/v1/runs", json=body, headers=long)).status_code == 400


async def test_a_key_keeps_one_workflow_and_no_other(server: LinkServer) -> None:
    key = {"Idempotency-Key": "keep-1"}
    first = await server.http.post("/api/v1/workflows", json=chain("one", "demo.a"), headers=key)
    again = await server.http.post("/api/v1/workflows", json=chain("one", "demo.a"), headers=key)
    assert (first.status_code, again.status_code) == (201, 200)
    assert again.json() == first.json()
    other = await server.http.post("/api/v1/workflows", json=chain("two", "demo.a"), headers=key)
    assert other.status_code == 409


async def test_workflows_are_kept_listed_and_deleted(server: LinkServer) -> None:
    first, second = chain("kept one", "nobody.a", package="nobody"), chain("kept two", "demo.a")
    for given in (first, second):
        made = await server.http.post("/api/v1/workflows", json=given)
        assert made.status_code == 201, made.text
        assert made.json()["workflowId"] == given["id"]
    assert (await server.http.post("/api/v1/workflows", json=first)).status_code == 200
    at = f"/api/v1/workflows/{first['id']}"
    assert (await server.http.get(at)).json() == first
    changed = {**first, "metadata": {"name": "renamed"}}
    assert (await server.http.post("/api/v1/workflows", json=changed)).status_code == 201
    assert (await server.http.get(at)).json() == changed
    assert (await server.http.post("/api/v1/workflows", json=first)).status_code == 201
    assert (await server.http.get(at)).json() == first  # what was kept last counts
    ids = sorted([first["id"], second["id"]])
    page = (await server.http.get("/api/v1/workflows", params={"limit": 1})).json()
    assert [item["id"] for item in page["items"]] == ids[:1]
    rest = await server.http.get("/api/v1/workflows", params={"cursor": page["nextCursor"]})
    assert [item["id"] for item in rest.json()["items"]] == ids[1:]
    named = await server.http.get("/api/v1/workflows", params={"q": "two"})
    assert [item["id"] for item in named.json()["items"]] == [second["id"]]
    assert (await server.http.delete(at)).status_code == 204
    assert (await server.http.get(at)).status_code == 404
    assert (await server.http.delete(at)).status_code == 404
    left = (await server.http.get("/api/v1/workflows")).json()
    assert [item["id"] for item in left["items"]] == [second["id"]]
    assert (await server.http.post("/api/v1/workflows", json=first)).status_code == 201
    assert (await server.http.get(at)).json() == first  # keeping it again brings it back


async def test_a_workflow_deleted_leaves_its_runs_alone(server: LinkServer) -> None:
    given = chain("gone", "demo.a")
    async with connected(foreign(server)):
        run_id = await server.start(given)
        await server.wait(run_id)
        assert (await server.http.delete(f"/api/v1/workflows/{given['id']}")).status_code == 204
        assert (await server.http.get(f"/api/v1/runs/{run_id}/definition")).json() == given
        assert (await server.http.get(f"/api/v1/workflows/{given['id']}")).status_code == 404
        again = await server.start(given)
        assert (await server.wait(again))["status"] == "succeeded"
        assert (await server.http.get(f"/api/v1/workflows/{given['id']}")).status_code == 200


async def test_a_workflow_has_a_preview(server: LinkServer) -> None:
    given = {**chain("seen", "demo.a"), "previewImage": "b3du"}
    await server.http.post("/api/v1/workflows", json=given)
    at = f"/api/v1/workflows/{given['id']}/preview"
    assert (await server.http.get(at)).json() == {"previewImage": "b3du"}
    put = await server.http.put(at, json={"previewImage": "cHV0"})
    assert put.status_code == 200
    assert (await server.http.get(at)).json() == {"previewImage": "cHV0"}
    await server.http.put(at, json={"previewImage": None})
    assert (await server.http.get(at)).json() == {"previewImage": "b3du"}
    assert (await server.http.put(at, json={"previewImage": 3})).status_code == 400
    nowhere = f"/api/v1/workflows/{uuid('nowhere')}/preview"
    assert (await server.http.get(nowhere)).status_code == 404


async def test_a_bad_workflow_is_refused_and_only_operators_keep_any(server: LinkServer) -> None:
    bad = {**chain("bad", "demo.a"), "nodes": []}
    refused = await server.http.post("/api/v1/workflows", json=bad)
    assert refused.status_code == 422
    assert refused.json()["problems"]
    assert (await server.http.post("/api/v1/workflows", json=[1])).status_code == 400
    assert (await server.http.get("/api/v1/workflows")).json()["items"] == []
    viewer = await token(server, "viewer")
    denied = await viewer.post("/api/v1/workflows", json=chain("ok", "demo.a"))
    assert denied.status_code == 403
    assert (await viewer.get("/api/v1/workflows")).status_code == 200
    await viewer.aclose()


async def test_the_native_paths_take_workflows_too(server: LinkServer) -> None:
    given = chain("native", "demo.a")
    async with connected(foreign(server)):
        body = {"dialect": "workflow", "definition": given}
        valid = await server.http.post("/api/v1/flows/validate", json=body)
        assert valid.json() == {"ok": True, "nodes": 1, "params": [], "warnings": []}
        wrong = await server.http.post("/api/v1/flows/other/versions", json=body)
        assert wrong.status_code == 400
        pushed = await server.http.post("/api/v1/flows/native/versions", json=body)
        assert pushed.status_code == 201, pushed.text
        assert pushed.json()["flowId"] == given["id"]
        at = f"/api/v1/flows/{given['id']}/versions/{pushed.json()['version']}"
        assert (await server.http.get(at)).json()["dialect"] == "workflow"
        flows = (await server.http.get("/api/v1/flows", params={"q": "native"})).json()["items"]
        assert [flow["id"] for flow in flows] == [given["id"]]
        started = await server.http.post("/api/v1/runs", json={"flow": "native"})
        assert started.status_code == 202, started.text
        run = (await server.http.get(f"/api/v1/runs/{started.json()['id']}?waitMs=10000")).json()
        assert run["state"] == "succeeded"
    bad = {"dialect": "klingon", "definition": given}
    assert (await server.http.post("/api/v1/flows/validate", json=bad)).status_code == 400
    missing = {"dialect": "workflow", "definition": chain("x", "no.a", package="no")}
    assert (await server.http.post("/api/v1/flows/validate", json=missing)).status_code == 422


async def test_a_retry_says_what_it_opens_again(server: LinkServer) -> None:
    failing = True

    async def sometimes(dispatch: Json) -> Json:
        if failing and dispatch["node_type"] == "demo.b":
            raise RuntimeError("not today")
        return {"echo": dispatch["parameters"]}

    worker = foreign(server, handler=sometimes)
    work = worker.work

    async def reported(dispatch: Json) -> Json:
        try:
            return await work(dispatch)
        except RuntimeError as error:
            failed = {"run_id": dispatch["run_id"], "task_id": dispatch["task_id"]}
            problem = {"code": "E.RUNNER.FAILURE", "message": str(error)}
            return {**failed, "status": "FAILED", "result": {}, "error": problem}

    worker.work = reported  # type: ignore[method-assign]
    async with connected(worker):
        run_id = await server.start(chain("redo", "demo.a", "demo.b", "demo.c"))
        assert (await server.wait(run_id))["status"] == "failed"
        at = f"/api/v1/runs/{run_id}/retry"
        preview = (await server.http.post(at, json={"dryRun": True})).json()
        named = [task.partition("~")[2].partition(".")[0] for task in preview["redone"]]
        assert named == [uuid("redo-1")]
        partly = await server.http.post(at, json={"from": True, "dryRun": True})
        assert (partly.status_code, partly.json()["redone"]) == (200, [])
        failing = False
        assert (await server.http.post(at, json={})).status_code == 202
        assert (await server.wait(run_id))["status"] == "succeeded"
        early = await server.http.post(at, json={"dryRun": True})
        assert early.status_code == 409
        again = await server.http.post(at, json={"task": uuid("redo-1"), "from": True})
        assert again.status_code == 202, again.text
        named = [task.partition("~")[2].partition(".")[0] for task in again.json()["redone"]]
        assert named == [uuid("redo-2")]
        assert (await server.wait(run_id))["status"] == "succeeded"
        tasks = (await server.http.get(f"/api/v1/runs/{run_id}/tasks")).json()["items"]
        assert {task["node"]: task["attempts"] for task in tasks} == {
            uuid("redo-0"): 1,
            uuid("redo-1"): 3,
            uuid("redo-2"): 2,
        }


async def test_what_is_to_be_redone_is_shown_as_queued(server: LinkServer) -> None:
    go = asyncio.Event()

    async def held(dispatch: Json) -> Json:
        await go.wait()
        return {"echo": dispatch["parameters"]}

    worker = foreign(server, handler=held)
    async with connected(worker):
        run_id = await server.start(chain("again", "demo.a", "demo.b"))
        go.set()
        await server.wait(run_id)
        go.clear()
        body = {"task": uuid("again-0"), "from": True}
        assert (
            await server.http.post(f"/api/v1/runs/{run_id}/retry", json=body)
        ).status_code == 202
        run = (await server.http.get(f"/api/v1/runs/{run_id}")).json()
        by_node = {each["nodeId"]: each["status"] for each in run["nodes"]}
        assert by_node[uuid("again-1")] == "queued"
        go.set()
        assert (await server.wait(run_id))["status"] == "succeeded"


async def test_an_outline_names_the_nodes_as_the_workflow_does(server: LinkServer) -> None:
    given = workflow("outlined", [node("only", "demo.a", label="The only one")], [])
    async with connected(foreign(server)):
        run_id = await server.start(given)
        await server.wait(run_id)
    found = (await server.http.get(f"/api/v1/runs/{run_id}/outline")).json()
    [place] = found["places"]
    assert place["label"] == "The only one"
    assert (place["type"], place["package"], place["version"]) == ("demo.a", "demo", "1.0.0")
    assert place["path"] == found["tasks"][0][1]


async def test_artifacts_of_a_run_are_listed_in_pages(server: LinkServer) -> None:
    worker = foreign(server)
    work = worker.work

    async def making(dispatch: Json) -> Json:
        result = await work(dispatch)
        made = [{"resource_id": f"r{n}", "type": "file", "worker_name": "foreign"} for n in (1, 2)]
        return {**result, "artifacts": made}

    worker.work = making  # type: ignore[method-assign]
    async with connected(worker):
        run_id = await server.start(chain("made", "demo.a"))
        await server.wait(run_id)
    at = f"/api/v1/runs/{run_id}/artifacts"
    page = (await server.http.get(at, params={"limit": 1})).json()
    assert [item["resourceId"] for item in page["items"]] == ["r1"]
    rest = (await server.http.get(at, params={"cursor": page["nextCursor"]})).json()
    assert [item["resourceId"] for item in rest["items"]] == ["r2"]
    assert rest["nextCursor"] is None
    assert (await server.http.get(at, params={"type": "image"})).json()["items"] == []


async def test_a_node_tells_where_it_must_go_and_how_far_it_is(server: LinkServer) -> None:
    gate = asyncio.Event()

    async def held(dispatch: Json) -> Json:
        await say(run_id=dispatch["run_id"], task_id=dispatch["task_id"], progress=0.5)
        await gate.wait()
        return {}

    worker = foreign(server, handler=held)

    async def say(**feedback: Any) -> None:
        seq, worker.next_seq = worker.next_seq, worker.next_seq + 1
        await worker.send(worker.envelope("biz.exec.feedback", feedback, session_seq=seq))

    sticky: Json = {"affinity": {"key": "model-7", "mode": "sticky", "ttlMs": 60_000}}
    ref = {"resourceId": "r-1", "workerId": "foreign", "type": "file"}
    only = node("where", "demo.a", parameters={"file": {"resourceRef": ref}}, **sticky)
    async with connected(worker):
        run_id = await server.start(workflow("where", [only], []))

        async def spoken() -> Any:
            [found] = (await server.http.get(f"/api/v1/runs/{run_id}")).json()["nodes"]
            return found if "state" in found else None

        found = await until(spoken)
        assert found["affinity"] == sticky["affinity"]
        assert found["resourceRefs"] == [ref]
        assert found["state"].keys() == {"stage", "progress", "lastUpdatedAt"}
        assert found["state"]["lastUpdatedAt"].endswith("Z")
        bound = (await server.http.get(f"/api/v1/scheduler/runs/{run_id}/bindings")).json()
        [one] = bound["items"]
        assert (one["package"], one["workerName"], one["runId"]) == ("demo", "foreign", run_id)
        assert bound["nextCursor"] is None
        gate.set()
        await server.wait(run_id)
    unknown = await server.http.get("/api/v1/scheduler/runs/no-such-run/bindings")
    assert unknown.status_code == 404
