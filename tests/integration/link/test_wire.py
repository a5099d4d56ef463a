"""Workers that share no code with ours work on the published wire, whatever happens to it."""

import asyncio
from typing import Any

import pytest

from tests.integration.link.conftest import LEASE_S, TOKEN, LinkServer, connected, until
from tests.integration.link.independent import (
    Faults,
    FirstGeneration,
    Independent,
    SecondGeneration,
    echo,
)
from tests.integration.link.workflows import chain, edge, node, workflow

pytestmark = pytest.mark.anyio

DEMO = [("demo", "1.0.0")]
GENERATIONS = [FirstGeneration, SecondGeneration]
Json = dict[str, Any]


def independent(
    kind: type[Independent], server: LinkServer, name: str = "foreign", **more: Any
) -> Independent:
    return kind(server.url, name, more.pop("packages", DEMO), token=TOKEN, **more)


@pytest.mark.parametrize("kind", GENERATIONS)
async def test_a_foreign_worker_of_either_generation_runs_a_workflow(
    server: LinkServer, kind: type[Independent]
) -> None:
    async with connected(independent(kind, server)) as worker:
        run = await server.wait(await server.start(chain("two", "demo.a", "demo.b")))
    assert run["status"] == "succeeded"
    assert len(worker.executed) == 2
    last = next(n for n in run["nodes"] if "in" in n["result"]["echo"])
    assert last["result"]["echo"]["in"] == {"name": "two-0"}  # the edge carried it
    assert last["workerName"] == "foreign"
    assert last["pendingAck"] is False
    assert last["dispatchId"]


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("lease_s", [20.0])
@pytest.mark.parametrize("kind", GENERATIONS)
async def test_acknowledgements_lost_late_and_repeated_neither_lose_nor_double_a_task(
    server: LinkServer, kind: type[Independent]
) -> None:
    faults = Faults(7, drop=0.15, delay=0.15, double=0.15)
    worker = independent(kind, server, max_parallel=64, faults=faults)
    async with connected(worker):
        runs = await server.start_many(chain("faulty", "demo.a", "demo.b"), 2_500)
        for run_id in runs:
            run = await server.wait(run_id, 60)
            assert run["status"] == "succeeded", run
    assert len(worker.executed) == 5_000
    assert set(worker.executed.values()) == {1}
    events = await server.http.get(f"/api/v1/runs/{runs[0]}/events")
    kinds = [event["type"] for event in events.json()["items"]]
    assert kinds.count("attempt.succeeded") == 2


async def test_a_resumed_session_loses_nothing_and_repeats_nothing(server: LinkServer) -> None:
    gate = asyncio.Event()

    async def held(dispatch: Json) -> Json:
        await gate.wait()
        return await echo(dispatch)

    worker = independent(SecondGeneration, server, handler=held)
    assert isinstance(worker, SecondGeneration)
    async with connected(worker):
        run_id = await server.start(chain("cut", "demo.a", "demo.b"))
        await until(lambda: worker.running == 1)
        worker.cut()
        await until(lambda: worker.resumed == 1)
        gate.set()
        run = await server.wait(run_id)
    assert run["status"] == "succeeded"
    assert sorted(worker.executed.values()) == [1, 1]
    assert worker.accepts == 2


async def test_results_sent_while_the_line_was_cut_arrive_after_it_is_back(
    server: LinkServer,
) -> None:
    worker = independent(SecondGeneration, server, max_parallel=32)
    assert isinstance(worker, SecondGeneration)
    async with connected(worker):
        runs = await server.start_many(chain("storm", "demo.a", "demo.b"), 30)
        for _ in range(5):
            await asyncio.sleep(0.1)
            worker.cut()
            await until(worker.ready.is_set)
        more = await server.start_many(chain("storm", "demo.a", "demo.b"), 30)
        for run_id in [*runs, *more]:
            assert (await server.wait(run_id))["status"] == "succeeded"
    assert set(worker.executed.values()) == {1}


@pytest.mark.parametrize("lease_s", [20.0])
async def test_the_servers_restart_does_not_repeat_what_a_worker_has_in_hand(
    server: LinkServer,
) -> None:
    gate = asyncio.Event()

    async def held(dispatch: Json) -> Json:
        await gate.wait()
        return await echo(dispatch)

    worker = independent(SecondGeneration, server, handler=held)
    async with connected(worker):
        run_id = await server.start(chain("restart", "demo.a", "demo.b"))
        await until(lambda: worker.running == 1)
        worker.ready.clear()
        server.process.kill()
        await asyncio.to_thread(server.process.start)
        await until(worker.ready.is_set)
        gate.set()
        run = await server.wait(run_id)
    assert run["status"] == "succeeded"
    assert sorted(worker.executed.values()) == [1, 1]


async def test_work_of_a_worker_that_dies_goes_to_another_within_the_lease(
    server: LinkServer,
) -> None:
    forever = asyncio.Event()

    async def stuck(dispatch: Json) -> Json:
        await forever.wait()
        return {}

    dying = independent(SecondGeneration, server, "dying", handler=stuck)
    run_id = ""
    async with connected(dying):
        run_id = await server.start(chain("orphan", "demo.a", "demo.b"))
        await until(lambda: dying.running == 1)
    heir = independent(SecondGeneration, server, "heir")
    async with connected(heir):
        async with asyncio.timeout(LEASE_S + 5):
            run = await server.wait(run_id)
    assert run["status"] == "succeeded"
    assert {n["workerName"] for n in run["nodes"]} == {"heir"}


@pytest.mark.parametrize("lease_s", [20.0])
@pytest.mark.parametrize("kind", GENERATIONS)
async def test_the_server_keeps_a_workers_limits(
    server: LinkServer, kind: type[Independent]
) -> None:
    async def slow(dispatch: Json) -> Json:
        await asyncio.sleep(0.05)
        return await echo(dispatch)

    worker = independent(kind, server, handler=slow, max_parallel=4, per_node={"demo.b": 2})
    async with connected(worker):
        runs = await server.start_many(chain("limits", "demo.a", "demo.b"), 20)
        for run_id in runs:
            assert (await server.wait(run_id))["status"] == "succeeded"
    assert worker.most_at_once <= 4
    assert worker.most_by_type["demo.b"] <= 2


async def test_a_run_stays_with_the_worker_it_began_on(server: LinkServer) -> None:
    one = independent(SecondGeneration, server, "one", max_parallel=8)
    two = independent(SecondGeneration, server, "two", max_parallel=8)
    async with connected(one), connected(two):
        runs = await server.start_many(chain("bound", *["demo.a"] * 4), 20)
        for run_id in runs:
            run = await server.wait(run_id)
            assert len({n["workerName"] for n in run["nodes"]}) == 1
    assert one.executed
    assert two.executed


async def test_a_node_without_a_worker_delays_no_other_run(server: LinkServer) -> None:
    worker = independent(SecondGeneration, server, packages=[*DEMO, ("rare", "1.0.0")])
    async with connected(worker):
        pass  # from now on the server knows the package, but nobody has it
    other = independent(SecondGeneration, server, "other")
    async with connected(other):
        stuck = await server.start(chain("stuck", "rare.a", package="rare"))
        async with asyncio.timeout(5):
            run = await server.wait(await server.start(chain("free", "demo.a")))
        assert run["status"] == "succeeded"
        assert (await server.wait(stuck, 0.1))["status"] == "running"
        why = await server.http.get(f"/api/v1/runs/{stuck}/why")
        assert "rare@1.0.0" in why.json()["line"]


async def test_branches_run_side_by_side_and_a_join_gets_both(server: LinkServer) -> None:
    nodes = [node(name, "demo.a") for name in ("a", "b", "c", "d")]
    edges = [edge("a", "b"), edge("a", "c"), edge("b", "d"), edge("c", "d")]
    async with connected(independent(SecondGeneration, server)):
        run = await server.wait(await server.start(workflow("diamond", nodes, edges)))
    assert run["status"] == "succeeded"
    assert len(run["nodes"]) == 4


async def test_a_violation_of_concurrency_means_later_not_failed(server: LinkServer) -> None:
    class Busy(FirstGeneration):
        refused = 0

        async def dispatched(self, frame: Json) -> None:
            if self.refused == 0:
                self.refused += 1
                dispatch = frame["payload"]
                details = {"run_id": dispatch["run_id"], "task_id": dispatch["task_id"]}
                error = {
                    "code": "E.CMD.CONCURRENCY_VIOLATION",
                    "message": "busy",
                    "context": {"where": "worker.concurrency", "details": details},
                }
                await self.deliver(
                    self.envelope("command.error", error, corr=frame["id"], ack={"request": True})
                )
                return
            await super().dispatched(frame)

    async with connected(independent(Busy, server)) as worker:
        run = await server.wait(await server.start(chain("busy", "demo.a")))
    assert run["status"] == "succeeded"
    assert isinstance(worker, Busy)
    assert worker.refused == 1
    assert run["nodes"][0]["taskId"].endswith("@2")
