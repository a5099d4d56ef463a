"""Environments of tasks on the link: plain services and packages' nodes work in their places."""

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

worker = Worker()


@worker.service("place.use")
def use(ctx, input):
    ctx.env.write("made.txt", "by a service")
    done = ctx.env.exec(["cat", "made.txt"])
    return {"said": done.out, "kept": ctx.env.read("made.txt").decode(), "epoch": ctx.env.epoch}
"""
HANDLERS = """
import asyncio


def used(env):
    env.write("made.txt", "by a package")
    done = env.exec(["cat", "made.txt"])
    try:
        env.read("nothing.txt")
    except RuntimeError as error:
        missing = str(error)
    digest = env.snapshot()["digest"]
    heard = []
    env.exec("echo one; sleep 0.3; echo two", on_output=lambda *said: heard.append(said))
    return {"echo": done.out, "kept": env.read("made.txt").decode(), "missing": missing,
            "kind": env.kind, "digest": digest, "heard": heard}


def plain(ctx):
    return used(ctx.env)


async def waiting(ctx):
    try:
        ctx.env.read("made.txt")
    except RuntimeError as error:
        refused = str(error)
    return {**await asyncio.to_thread(used, ctx.env), "refused": refused}


def without(ctx):
    return {"echo": ctx.has_env}
"""
KINDS = ("plain", "waiting", "without")


@pytest.fixture
def server_args() -> tuple[str, ...]:
    return ("--lease-s", "2", "--env-noop")


async def actions(server: LinkServer, run_id: str) -> list[tuple[str, str]]:
    found = (await server.http.get(f"/api/v1/runs/{run_id}/actions")).json()["items"]
    return [(one["tool"], one["state"]) for one in found]


async def test_services_and_packages_on_the_link_work_in_their_places(
    server: LinkServer, tmp_path: Path
) -> None:
    box: dict[str, Any] = {"name": "box", "kind": "noop", "capacity": 4}
    assert (await server.http.post("/api/v1/envs/resources", json=box)).status_code == 201
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
    calls = {"exec_type": "queue", "service": "place.use", "env": "box"}
    flow = {"start": "a", "nodes": {"a": calls}, "edges": []}
    answer = await server.http.post("/api/v1/flows/placed/versions", json={"definition": flow})
    assert answer.status_code == 201, answer.text
    started_run = await server.http.post("/api/v1/runs", json={"flow": "placed"})
    run_id = started_run.json()["id"]
    run = await server.wait(run_id)
    assert run["state"] == "succeeded", run
    [task] = (await server.http.get(f"/api/v1/runs/{run_id}/tasks")).json()["items"]
    assert task["output"] == {"said": "by a service", "kept": "by a service", "epoch": 1}
    done = [("env.write", "completed"), ("env.exec", "completed"), ("env.read", "completed")]
    assert await actions(server, run_id) == done


async def by_a_package(server: LinkServer) -> None:
    nodes = [node(kind, f"kit.{kind}", "kit", env="box") for kind in KINDS[:2]]
    nodes.append(node("without", "kit.without", "kit"))
    run_id = await server.start(workflow("placed", nodes, []))
    run = await server.wait(run_id)
    assert run["status"] == "succeeded", run
    results = {one["nodeId"]: one["result"] for one in run["nodes"]}
    for kind in KINDS[:2]:
        result = results[uuid(kind)]
        assert (result["echo"], result["kept"], result["kind"]) == (*["by a package"] * 2, "noop")
        assert "nothing.txt" in result["missing"]
        assert result["digest"]
        assert result["heard"] == [["out", "one\n"], ["out", "two\n"]]
    assert "to_thread" in results[uuid("waiting")]["refused"], "it would wait for itself"
    assert results[uuid("without")] == {"echo": False}
    assert ("env.read", "failed") in await actions(server, run_id)
