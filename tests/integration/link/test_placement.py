"""Where tasks go: to the owner of what they need, to the holder of their key, where a run began."""

import asyncio
from typing import Any

import pytest

from tests.integration.link.conftest import TOKEN, LinkServer, connected, until
from tests.integration.link.independent import Independent, SecondGeneration, echo
from tests.integration.link.workflows import chain, edge, node, workflow

pytestmark = pytest.mark.anyio

DEMO = [("demo", "1.0.0")]
Json = dict[str, Any]


def worker_of(server: LinkServer, name: str, **more: Any) -> Independent:
    return SecondGeneration(server.url, name, DEMO, token=TOKEN, **more)


def needs(name: str, *owners: str) -> Json:
    """A workflow whose one node names a resource of each owner."""
    refs = [
        {"resourceRef": {"resourceId": f"r-{owner}", "workerId": owner, "type": "file"}}
        for owner in owners
    ]
    return workflow(name, [node(name, "demo.a", parameters={"files": refs})], [])


async def post(server: LinkServer, body: Json) -> Any:
    return await server.http.post("/api/v1/runs", json={"workflow": body, "clientId": "tests"})


async def test_a_task_goes_to_the_worker_that_has_what_it_needs(server: LinkServer) -> None:
    async with connected(worker_of(server, "one")) as one, connected(worker_of(server, "two")):
        for number in range(6):
            run = await server.wait(await server.start(needs(f"pinned-{number}", "two")))
            assert run["nodes"][0]["workerName"] == "two"
    assert not one.executed


async def test_resources_of_two_workers_at_once_are_a_conflict(server: LinkServer) -> None:
    async with connected(worker_of(server, "one")), connected(worker_of(server, "two")):
        answer = await post(server, needs("torn", "one", "two"))
    assert answer.status_code == 409
    assert "one, two" in answer.json()["detail"]


async def test_an_owner_that_is_gone_is_waited_for_not_replaced(server: LinkServer) -> None:
    async with connected(worker_of(server, "one")):
        answer = await post(server, needs("orphan", "nobody"))
    assert answer.status_code == 503
    assert "nobody" in answer.json()["detail"]
    assert int(answer.headers["Retry-After"]) >= 1


async def test_a_result_that_names_a_resource_draws_the_next_task_to_it(
    server: LinkServer,
) -> None:
    async def makes(dispatch: Json) -> Json:
        reference = {"resourceId": "page", "workerId": "maker", "type": "page"}
        return {"echo": {"resourceRef": reference}}

    nodes = [node("make", "demo.a"), node("use", "demo.b", package="other")]
    flow = workflow("drawn", nodes, [edge("make", "use")])
    maker = SecondGeneration(
        server.url, "maker", [*DEMO, ("other", "1.0.0")], token=TOKEN, handler=makes
    )
    rival = SecondGeneration(server.url, "rival", [("other", "1.0.0")], token=TOKEN)
    async with connected(maker), connected(rival):
        for _ in range(5):
            run = await server.wait(await server.start(flow))
            assert {n["workerName"] for n in run["nodes"]} == {"maker"}
    assert not rival.executed


async def test_tasks_with_the_same_key_go_to_the_same_worker_over_all_runs(
    server: LinkServer,
) -> None:
    sticky: Json = {"affinity": {"key": "model-7", "mode": "sticky", "ttlMs": 60_000}}
    flow = workflow("sticky", [node("sticky", "demo.a", **sticky)], [])
    async with connected(worker_of(server, "one")), connected(worker_of(server, "two")):
        seen = set()
        for _ in range(8):
            run = await server.wait(await server.start(flow))
            seen.add(run["nodes"][0]["workerName"])
    assert len(seen) == 1


async def test_a_preferred_worker_without_room_is_not_waited_for_long(
    server: LinkServer,
) -> None:
    gate = asyncio.Event()

    async def held(dispatch: Json) -> Json:
        await gate.wait()
        return await echo(dispatch)

    preferred: Json = {"affinity": {"key": "k", "mode": "preferred", "ttlMs": 60_000}}
    flow = workflow("preferred", [node("preferred", "demo.a", **preferred)], [])
    full = worker_of(server, "full", max_parallel=1, handler=held)
    async with connected(full):
        stuck = await server.start(flow)
        await until(lambda: full.running == 1)
        async with connected(worker_of(server, "free")):
            run = await server.wait(await server.start(flow))
            assert run["nodes"][0]["workerName"] == "free"
        gate.set()
        assert (await server.wait(stuck))["status"] == "succeeded"


async def test_what_the_link_does_is_counted(server: LinkServer) -> None:
    async with connected(worker_of(server, "counted")):
        await server.wait(await server.start(chain("counted", "demo.a", "demo.b")))
        text = await server.metrics()
    for line in (
        'ws_conn_active{tenant="default"} 1',
        'cmd_dispatch_total{tenant="default",node_type="demo.a"} 1',
        'result_latency_ms_count{tenant="default",node_type="demo.b"} 1',
        'cmd_ack_latency_ms_count{tenant="default"} ',
    ):
        assert line in text
    for name in ("ws_frame_bytes_total", "cmd_retry_total", "pkg_ops_total", "pkg_install_latency"):
        assert name in text
