"""The ledger and the blackboard on the link: for plain services and for handlers of packages."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.integration.link.conftest import LinkServer
from tests.integration.link.kit import linked, package
from tests.integration.link.test_our_worker import present, publish
from tests.integration.link.workflows import node, uuid, workflow

pytestmark = pytest.mark.anyio

SERVICES = """
from windlass import Worker
from windlass.worker.errors import ActionRefused

worker = Worker()


@worker.service("desk.use")
def use(ctx, input):
    with ctx.action("save_report", "external_write", input={"to": "ann"}) as action:
        action.output = {"sent": True}
    revision = ctx.blackboard.put("progress.pages", {"read": 3})
    try:
        with ctx.action("drop_table", "external_irreversible"):
            raise AssertionError("it was not allowed")
    except ActionRefused as error:
        refused = str(error)
    return {"revision": revision > 0, "read": ctx.blackboard.get("progress.pages").value,
            "refused": refused}
"""
HANDLERS = """
import asyncio


def plain(ctx):
    with ctx.action("save_report", "external_write", input={"to": "bob"}) as action:
        action.output = {"sent": True}
    first = ctx.blackboard.put("progress.pages", {"read": 1})
    second = ctx.blackboard.put("progress.pages", {"read": 2}, expected=first)
    try:
        ctx.blackboard.put("progress.pages", {"read": 9}, expected=first)
    except RuntimeError as error:
        conflict = str(error)
    try:
        with ctx.action("drop_table", "external_irreversible"):
            raise AssertionError("it was not allowed")
    except RuntimeError as error:
        refused = str(error)
    here = [entry.value for entry in ctx.blackboard.list("progress.pages")]
    then = ctx.blackboard.get("progress.pages", first).value
    return {"conflict": conflict, "refused": refused, "here": here, "then": then,
            "missing": ctx.blackboard.get("progress.nothing") is None, "later": second > first}


async def waiting(ctx):
    try:
        ctx.blackboard.get("progress.pages")
    except RuntimeError as error:
        told = str(error)
    async with ctx.action("note_it", "external_write") as action:
        action.summary = "said hello"
    revision = await asyncio.to_thread(ctx.blackboard.put, "progress.pages", 5)
    return {"told": told, "revision": revision > 0}


def failing(ctx):
    try:
        with ctx.action("save_report", "external_write"):
            raise ValueError("no such address")
    except ValueError as error:
        return {"raised": str(error)}
"""
KINDS = ("plain", "waiting", "failing")


async def actions(server: LinkServer, run_id: str) -> set[tuple[str, str]]:
    found = (await server.http.get(f"/api/v1/runs/{run_id}/actions")).json()["items"]
    return {(one["tool"], one["state"]) for one in found}


async def test_handlers_on_the_link_have_a_ledger_and_a_blackboard(
    server: LinkServer, tmp_path: Path
) -> None:
    await publish(server, await asyncio.to_thread(package, tmp_path, HANDLERS, KINDS))
    worker = linked(server, tmp_path, SERVICES)
    await asyncio.to_thread(worker.start)
    try:
        await present(server, "w1")
        await by_a_service(server)
        await by_a_package(server)
    finally:
        await asyncio.to_thread(worker.stop)


async def by_a_service(server: LinkServer) -> None:
    flow = {"start": "a", "nodes": {"a": {"exec_type": "queue", "service": "desk.use"}}}
    answer = await server.http.post("/api/v1/flows/desk/versions", json={"definition": flow})
    assert answer.status_code == 201, answer.text
    run_id = (await server.http.post("/api/v1/runs", json={"flow": "desk"})).json()["id"]
    run = await server.wait(run_id)
    assert run["state"] == "succeeded", run["error"]
    [task] = (await server.http.get(f"/api/v1/runs/{run_id}/tasks")).json()["items"]
    assert task["output"]["revision"] is True
    assert task["output"]["read"] == {"read": 3}
    assert "approval" in task["output"]["refused"]
    assert ("save_report", "completed") in await actions(server, run_id)


async def by_a_package(server: LinkServer) -> None:
    run_id = await server.start(
        workflow("desk", [node(kind, f"kit.{kind}", "kit") for kind in KINDS], [])
    )
    run = await server.wait(run_id)
    assert run["status"] == "succeeded", run
    results: dict[str, Any] = {one["nodeId"]: one["result"] for one in run["nodes"]}
    plain = results[uuid("plain")]
    assert (plain["here"], plain["then"]) == ([{"read": 2}], {"read": 1})
    assert (plain["missing"], plain["later"]) == (True, True)
    assert "revision" in plain["conflict"]
    assert "approval" in plain["refused"]
    waiting = results[uuid("waiting")]
    assert "to_thread" in waiting["told"], "it would wait for itself"
    assert waiting["revision"] is True
    assert results[uuid("failing")] == {"raised": "no such address"}
    done = await actions(server, run_id)
    assert done >= {("save_report", "completed"), ("note_it", "completed")}
    assert ("save_report", "failed") in done
