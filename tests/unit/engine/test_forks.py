"""A fork from any task comes to what the run came to, whatever the run is made of."""

from typing import Any

import pytest

from windlass.engine import forks, runs
from windlass.model.errors import Conflict
from windlass.model.rows import Task
from windlass.model.states import RunState, TaskState
from windlass.testing.local import LocalEngine, local_engine
from windlass.worker import Context, Worker

pytestmark = pytest.mark.anyio

ADD: dict[str, Any] = {"kind": "executor", "service": "add"}
SUB = {
    "start": "x",
    "nodes": {
        "x": {**ADD, "post": {"output_key": "inside"}},
        "y": {**ADD, "prep": {"input_key": "inside"}, "post": {"output_key": "deep"}},
    },
    "edges": [{"from": "x", "to": "y"}],
}
NODES: dict[str, dict[str, Any]] = {
    "first": {**ADD, "prep": {"input_key": "$params.n"}, "post": {"output_key": "n"}},
    "each": {
        "kind": "foreach",
        "service": "add",
        "parallel_mode": "concurrent",
        "max_parallel": 2,
        "prep": {"input_key": "$params.list"},
        "post": {"output_key": "mapped"},
    },
    "both": {
        "kind": "parallel",
        "parallel_execs": [{"service": "add"}, {"service": "add"}],
        "prep": {"input_key": "n"},
        "post": {"output_key": "both"},
    },
    "inner": {"kind": "subflow", "subflow": SUB, "post": {"output_key": "inner"}},
    "last": {**ADD, "prep": {"input_key": "n"}, "post": {"output_key": "end"}},
}
FLOW = {
    "start": "first",
    "nodes": NODES,
    "edges": [
        {"from": one, "to": two} for one, two in zip(list(NODES), list(NODES)[1:], strict=False)
    ],
}
PARAMS = {"n": 1, "list": [1, 2, 3]}


def add(value: Any, params: dict[str, Any]) -> int:
    return (value if isinstance(value, int) else 0) + 1


async def fork(local: LocalEngine, run_id: str, task: str, given: str | None = None) -> str:
    source = await runs.get_run(local.engine, run_id)
    return (await forks.fork_run(local.engine, source, task, given)).run.id


async def test_a_fork_from_any_task_comes_to_the_same() -> None:
    async with local_engine({"add": add}) as local:
        whole = await local.run(FLOW, PARAMS)
        assert whole.state is RunState.SUCCEEDED, whole.run.error
        assert whole.shared["mapped"] == [2, 3, 4]
        for task in whole.tasks:
            forked = await local.ended(await fork(local, whole.run.id, task.id))
            assert (forked.state, forked.shared) == (whole.state, whole.shared), task.id
            assert all(row.run_id == forked.run.id for row in forked.tasks)
        assert (await local.look(whole.run.id)) == whole


async def test_only_what_comes_after_the_task_is_done_again() -> None:
    done: list[Any] = []

    def noted(value: Any, params: dict[str, Any]) -> int:
        done.append(value)
        return add(value, params)

    async with local_engine({"add": noted}) as local:
        whole = await local.run(FLOW, PARAMS)
        done.clear()
        forked = await local.ended(await fork(local, whole.run.id, "last", "41"))
        assert (forked.shared["end"], done) == (42, [41])
        done.clear()
        again = await local.ended(await fork(local, whole.run.id, "first", "10"))
        assert again.shared["both"] == [12, 12]
        assert len(done) == 1 + 3 + 2 + 2 + 1


async def test_a_failed_run_is_forked_where_it_failed_and_one_that_runs_is_not() -> None:
    broken = [True]

    def shaky(value: Any, params: dict[str, Any]) -> int:
        if broken[0]:
            raise ValueError("no")
        return 7

    flow = {"start": "a", "nodes": {"a": {**ADD, "post": {"output_key": "a"}}}, "edges": []}
    async with local_engine({"add": shaky}) as local:
        failed = await local.run(flow)
        assert failed.state is RunState.FAILED
        broken[0] = False
        forked = await local.ended(await fork(local, failed.run.id, "a"))
        assert (forked.state, forked.shared, forked.run.failures) == (
            RunState.SUCCEEDED,
            {"a": 7},
            0,
        )
        assert (await local.look(failed.run.id)).state is RunState.FAILED
        waits = {"start": "w", "nodes": {"w": {"kind": "approval"}}, "edges": []}
        waiting = await local.start(waits)
        await local.waits(waiting)
        [task] = local.database.of_run(Task, waiting)
        assert task.state is TaskState.WAITING
        with pytest.raises(Conflict, match="once it has ended"):
            await fork(local, waiting, "w")


async def test_what_was_said_of_the_first_run_is_left_as_it_was_said() -> None:
    worker = Worker()

    @worker.service("where")
    def where(ctx: Context) -> str:
        return f"/kept/{ctx.run_id}"

    nodes = {
        "a": {"exec_type": "queue", "service": "where", "post": {"output_key": "path"}},
        "b": {"exec_type": "queue", "service": "where"},
    }
    async with local_engine(worker) as local:
        ended = await local.run({"start": "a", "nodes": nodes, "edges": [{"from": "a", "to": "b"}]})
        again = await local.ended(await fork(local, ended.run.id, "b"))
        assert again.run.id != ended.run.id
        assert again.shared["path"] == f"/kept/{ended.run.id}", "its file is where it was"
