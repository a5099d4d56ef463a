"""What the simulator found once stays found: one test for each mistake, as small as it gets."""

import asyncio
from collections.abc import Sequence
from typing import Any, TypeVar

import msgspec
import pytest

from windlass.engine import flows, runs
from windlass.engine.demand import Demand, Demands
from windlass.engine.engine import Settings
from windlass.engine.graphs import Graphs
from windlass.engine.loading import load
from windlass.engine.workspace import LoadedRun
from windlass.kernel.bounds import Limits
from windlass.kernel.turn import Turn
from windlass.kernel.view import Need
from windlass.model.errors import Conflict
from windlass.model.graph import Graph
from windlass.model.rows import Row, Run, Timer, Variable
from windlass.model.states import RunState, TaskState
from windlass.ports.store import Raced, Writes
from windlass.testing.local import LocalEngine, local_engine
from windlass.testing.memory import MemoryDatabase, MemoryStore
from windlass.testing.memory.store import MemorySession

pytestmark = pytest.mark.anyio

R = TypeVar("R", bound=Row)


def flow(nodes: dict[str, Any], *edges: tuple[str, str, str]) -> dict[str, Any]:
    ways = [{"from": one, "action": action, "to": two} for one, action, two in edges]
    return {"start": next(iter(nodes)), "nodes": nodes, "edges": ways}


def calls(service: str, **more: Any) -> dict[str, Any]:
    return {"kind": "executor", "service": service, **more}


class Service:
    """A handler that fails for as long as it is told to."""

    def __init__(self, *, fails: bool = False) -> None:
        self.fails = fails
        self.calls: list[Any] = []

    async def __call__(self, value: Any, params: dict[str, Any]) -> Any:
        self.calls.append(value)
        if self.fails:
            raise ValueError("not now")
        return {"value": value}


def handler(service: Service) -> Any:
    async def handle(value: Any, params: dict[str, Any]) -> Any:
        return await service(value, params)

    return handle


async def start(engine: LocalEngine, key: str) -> str:
    target = await flows.find_target(engine.engine, "test")
    return (await runs.start_run(engine.engine, target, key=key)).run.id


async def test_a_start_with_a_key_is_committed() -> None:
    async with local_engine({"s": handler(Service())}) as engine:
        await engine.run(flow({"a": calls("s")}))
        first = await start(engine, "k")
        assert await start(engine, "k") == first
        assert (await engine.ended(first)).state is RunState.SUCCEEDED


async def test_starts_with_one_key_at_the_same_moment_make_one_run() -> None:
    async with local_engine({"s": handler(Service())}) as engine:
        await engine.run(flow({"a": calls("s")}))
        found = await asyncio.gather(*(start(engine, "k") for _ in range(5)))
        assert len(set(found)) == 1
        assert len(engine.database.table(Run)) == 2


class Reads(MemorySession):
    """A session that notes which tables are read, in order."""

    def __init__(self, store: MemoryStore) -> None:
        super().__init__(store)
        self.tables: list[str] = []

    async def rows(self, table: type[R], keys: Sequence[Any]) -> list[R]:
        self.tables.append(table.TABLE)
        return await super().rows(table, keys)


async def test_a_run_is_read_before_anything_that_belongs_to_it() -> None:
    store = MemoryStore(MemoryDatabase(lambda: 0))
    session = Reads(store)
    known, unknown = LoadedRun("known"), LoadedRun("unknown")
    needs = [
        (known, Need("attempts", "known~a.1@1")),
        (known, Need("tasks", "known~a.1")),
        (unknown, Need("runs", "unknown")),
        (unknown, Need("attempts", "unknown~a.1@1")),
    ]
    await load(session, Graphs(store), needs)
    assert session.tables[0] == "runs"


async def test_a_loop_that_never_waits_ends_the_run_even_out_of_a_subflow() -> None:
    spin = flow(
        {
            "w": {
                "kind": "wait_event",
                "params": {"signal_key": "$shared.s"},
                "post": {"action_static": "back"},
            }
        },
        ("w", "back", "w"),
    )
    body = flow(
        {"sub": {"kind": "subflow", "subflow": spin}, "after": calls("s")},
        ("sub", "error", "after"),
    )
    settings = Settings(limits=Limits(visits_per_turn=20))
    async with local_engine({"s": handler(Service())}, settings=settings) as engine:
        run_id = await engine.start(body)
        await engine.waits(run_id)
        await engine.signal(run_id, "s", "go")
        ended = await engine.ended(run_id)
    assert ended.state is RunState.FAILED
    assert "without waiting" in (ended.run.error or "")


def fan_out(**more: Any) -> dict[str, Any]:
    items = {"prep": {"input_key": "$params.items"}, "post": {"output_key": "out"}}
    return {"kind": "foreach", "service": "s", **items, **more}


async def test_redoing_a_branch_also_does_those_that_were_cancelled_with_it() -> None:
    service = Service(fails=True)
    async with local_engine({"s": handler(service)}) as engine:
        body = flow({"each": fan_out(failure_strategy="fail_fast")})
        ended = await engine.run(body, {"items": [1, 2, 3]})
        assert ended.state is RunState.FAILED
        assert service.calls == [1]
        service.fails = False
        await engine.retry(ended.run.id)
        ended = await engine.ended(ended.run.id)
    assert ended.state is RunState.SUCCEEDED
    assert service.calls == [1, 1, 2, 3]
    assert ended.shared["out"] == [{"value": 1}, {"value": 2}, {"value": 3}]


async def test_a_branch_that_waits_for_its_turn_is_not_redone() -> None:
    async with local_engine({}) as engine:
        run_id = await engine.start(flow({"each": fan_out()}), {"items": [1, 2]})
        [pending] = [
            task for task in (await engine.look(run_id)).tasks if task.state is TaskState.PENDING
        ]
        with pytest.raises(Conflict, match="has not begun"):
            await engine.retry(run_id, pending.id, descendants=True)


async def test_a_superseded_task_is_not_redone() -> None:
    async with local_engine({"s": handler(Service())}) as engine:
        body = flow({"a": calls("s"), "b": calls("s")}, ("a", "default", "b"))
        ended = await engine.run(body)
        first, second = ended.tasks
        await engine.retry(ended.run.id, first.id, descendants=True)
        await engine.ended(ended.run.id)
        with pytest.raises(Conflict, match="superseded"):
            await engine.retry(ended.run.id, second.id, descendants=True)


async def test_a_reopened_subflow_has_its_time_limit_again() -> None:
    service = Service(fails=True)
    inner = flow({"a": calls("s")})
    body = flow({"sub": {"kind": "subflow", "subflow": inner, "timeout_ms": 9000}})
    body["on_failure"] = "fail"
    async with local_engine({"s": handler(service)}) as engine:
        ended = await engine.run(body)
        assert ended.state is RunState.FAILED
        service.fails = False
        database = engine.database
        seen: list[str] = []
        database.watchers.append(lambda commit: seen.extend(database.table(Timer)))
        await engine.retry(ended.run.id)
        assert (await engine.ended(ended.run.id)).state is RunState.SUCCEEDED
    assert any(timer.endswith("!timeout") for timer in seen)


def test_a_shared_key_restored_in_a_turn_is_there_in_that_turn() -> None:
    view = LoadedRun("r")
    view.whole = True
    kept = Variable(scope="r", key="k", run_id="r", value="1", seq=1)
    view.tables[Variable][("r", "k")] = kept
    run = Run(
        id="r",
        version_id="v",
        flow_id="f",
        flow_name="f",
        state=RunState.RUNNING,
        created_at=0,
        updated_at=0,
    )
    turn = Turn(Graph(starts={}, nodes={}), view, run, 0, Limits())
    turn.remove(Variable, ("r", "k"))
    assert turn.variables("r") == {}
    turn.set_variable("r", "k", "2")
    assert {key: row.value for key, row in turn.variables("r").items()} == {"k": "2"}


async def test_demand_without_a_free_slot_gives_nothing_to_look_for() -> None:
    demands = Demands()
    demands.add(Demand("w", ["pull:q"], 0, 1000))
    assert not demands.can_claim


class Contradicting:
    """Lets one save of a pass fail as if rows of different moments had met."""

    def __init__(self) -> None:
        self.left = 1

    async def reading(self) -> None:
        if self.left:
            self.left -= 1
            raise AssertionError("rows of two moments contradict each other")

    async def saving(self, commit: Any) -> None:
        commit()


async def test_a_job_decided_from_contradicting_rows_is_decided_again() -> None:
    async with local_engine({"s": handler(Service())}) as engine:
        wait = {"kind": "wait_event", "params": {"signal_key": "$shared.s"}}
        run_id = await engine.start(flow({"w": wait}))
        await engine.waits(run_id)
        store = engine.engine.store
        assert isinstance(store, MemoryStore)
        store.around = Contradicting()
        await engine.signal(run_id, "s", 1)
        assert (await engine.ended(run_id)).state is RunState.SUCCEEDED


def test_a_commit_that_lost_its_race_leaves_nothing_behind() -> None:
    database = MemoryDatabase(lambda: 0)
    run = Run(
        id="r",
        version_id="v",
        flow_id="f",
        flow_name="f",
        state=RunState.RUNNING,
        created_at=0,
        updated_at=0,
    )
    database.commit(Writes(made={Run: {"r": run}}), "one")
    moved = msgspec.structs.replace(run, seq=2)
    with pytest.raises(Raced):
        database.commit(Writes(changed={Run: {"r": moved}}, seqs={"r": 1}), "two")
    assert database.table(Run) == {"r": run}
