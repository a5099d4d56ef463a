"""Budgets: reserved before work is handed out, settled by what it used, raised by a person."""

import asyncio
from typing import Any

import msgspec
import pytest

from tests.unit.engine.test_limits import until
from windlass.engine import flows, plans, runs
from windlass.engine.limits.changing import set_rule
from windlass.engine.limits.spend import Spend
from windlass.engine.why import why
from windlass.model.errors import BadRequest, DefinitionError
from windlass.model.limits import LimitRule, LimitUse, limit_id
from windlass.model.notes import with_usage
from windlass.model.rows import Attempt, Checkpoint, Failure, Flow, Task, Version
from windlass.model.states import AttemptState, CheckpointState, RunState, TaskState
from windlass.testing.local import LocalEngine, local_engine
from windlass.worker import Context, Worker

pytestmark = pytest.mark.anyio

EACH = 10


class Agents:
    """A service that uses tokens, and how many calls of it are out and were made."""

    def __init__(self, each: int = EACH) -> None:
        self.worker = Worker()
        self.each = each
        self.calls = self.out = self.most = 0
        self.go: asyncio.Event | None = None

        @self.worker.service("agent")
        async def agent(ctx: Context) -> str:
            self.calls += 1
            self.out += 1
            self.most = max(self.most, self.out)
            if self.go is not None:
                await self.go.wait()
            await asyncio.sleep(0)
            ctx.report_usage(tokens=self.each)
            self.out -= 1
            return "done"


def flow(items: int = 1, **more: Any) -> dict[str, Any]:
    node = {"exec_type": "queue", "service": "agent", **more.pop("node", {})}
    if items > 1:
        items_of = {"input_key": list(range(items))}
        node |= {"kind": "foreach", "prep": items_of, "parallel_mode": "concurrent"}
    return {"start": "a", "nodes": {"a": node}, **more}


async def start(engine: LocalEngine, definition: Any, budget: Any = None) -> str:
    published = await flows.publish(engine.engine, "test", definition)
    started = await runs.start_run(engine.engine, published.target, budget=budget)
    return started.run.id


def use_of(engine: LocalEngine, key: str) -> LimitUse:
    return engine.database.table(LimitUse)[limit_id("default", key)]


def questions(engine: LocalEngine) -> list[Checkpoint]:
    rows = engine.database.table(Checkpoint).values()
    return [row for row in rows if row.state is CheckpointState.OPEN]


async def answer(engine: LocalEngine, value: Any) -> None:
    [asked] = questions(engine)
    await runs.answer(engine.engine, asked.id, value, by="me")


async def test_fifty_agents_under_one_budget_go_over_by_less_than_a_call_and_lose_nothing() -> None:
    agents = Agents()
    async with local_engine(agents.worker, clock="real") as engine:
        budget = {"tokens": 205, "estimate": {"tokens": EACH}}
        run = await start(engine, flow(items=50), budget)
        key = f"budget:tokens:{run}"
        await until(engine, lambda: bool(questions(engine)) and not agents.out)
        use = use_of(engine, key)
        assert (use.spent, use.reserved, use.in_use) == (210, 0, 0)
        assert agents.calls == 21, "one call over at most"
        assert agents.most > 1, "they ran side by side"
        tasks = list(engine.database.of_run(Task, run))
        assert sum(task.state is TaskState.WAITING for task in tasks) == 29
        found = await why(engine.engine, await runs.get_run(engine.engine, run))
        assert "budget of the run is spent: 210 of 205 tokens" in found.line
        [asked] = questions(engine)
        assert "210 of 205 tokens" in asked.prompt
        await answer(engine, 1000)
        assert (await engine.ended(run)).state is RunState.SUCCEEDED
        assert agents.calls == 50, "nothing was done twice"
        assert use_of(engine, key).spent == 500
        assert questions(engine) == []


async def test_where_nobody_knows_what_an_attempt_uses_the_first_goes_alone() -> None:
    agents = Agents()
    agents.go = asyncio.Event()
    async with local_engine(agents.worker, clock="real") as engine:
        run = await start(engine, flow(items=10), {"tokens": 1000})
        key = limit_id("default", f"budget:tokens:{run}")
        await until(engine, lambda: len(list(engine.database.parked(key))) == 9)
        assert agents.calls <= 1
        assert use_of(engine, f"budget:tokens:{run}").reserved == 1000
        agents.go.set()
        assert (await engine.ended(run)).state is RunState.SUCCEEDED
        assert use_of(engine, f"budget:tokens:{run}").largest == EACH


async def test_attempts_are_counted_without_anybody_reporting_them() -> None:
    agents = Agents()
    async with local_engine(agents.worker) as engine:
        run = await start(engine, flow(items=5), {"attempts": 3})
        await until(engine, lambda: bool(questions(engine)))
        assert agents.calls == 3
        await answer(engine, "more")
        assert (await engine.ended(run)).state is RunState.SUCCEEDED
        assert use_of(engine, f"budget:attempts:{run}").spent == 5


async def test_a_budget_nobody_raises_fails_the_task() -> None:
    agents = Agents()
    async with local_engine(agents.worker) as engine:
        run = await start(engine, flow(items=3), {"attempts": 1})
        await until(engine, lambda: bool(questions(engine)))
        with pytest.raises(BadRequest):
            await answer(engine, "as you like")
        await answer(engine, "stop")
        await until(engine, lambda: bool(questions(engine)))
        await answer(engine, {"option_id": "stop"})
        ended = await engine.ended(run)
        assert ended.state is RunState.FAILED
        codes = [task.error for task in ended.tasks if task.idx >= 0 and task.error]
        assert len(codes) == 2
        assert all("budget_spent" in code for code in codes)


async def test_another_task_asks_where_the_one_that_did_is_gone() -> None:
    agents = Agents()
    async with local_engine(agents.worker) as engine:
        await set_rule(engine.engine, rule("budget:attempts", 1))
        first = await start(engine, flow())
        await engine.ended(first)
        asker = await start(engine, flow())
        await until(engine, lambda: bool(questions(engine)))
        other = await start(engine, flow())
        await until(engine, lambda: use_of(engine, "budget:attempts").parked == 2)
        assert [row.run_id for row in questions(engine)] == [asker]
        await engine.cancel(asker)
        await until(engine, lambda: [row.run_id for row in questions(engine)] == [other])
        await set_rule(engine.engine, rule("budget:attempts", 5))
        assert (await engine.ended(other)).state is RunState.SUCCEEDED
        assert questions(engine) == [], "a question that is answered otherwise is closed"


def rule(pattern: str, budget: int) -> LimitRule:
    id_ = limit_id("default", pattern)
    return LimitRule(id=id_, tenant="default", pattern=pattern, budget=budget)


async def test_a_task_s_own_budget_bounds_its_retries() -> None:
    worker = Worker()
    tries = 0

    @worker.service("agent")
    def agent(ctx: Context) -> str:
        nonlocal tries
        tries += 1
        ctx.report_usage(tokens=60)
        if tries < 3:
            raise RuntimeError("again")
        return "done"

    async with local_engine(worker) as engine:
        run = await start(engine, flow(node={"max_retries": 5, "budget": {"tokens": 100}}))
        await until(engine, lambda: bool(questions(engine)))
        [task] = engine.database.of_run(Task, run)
        assert tries == 2
        assert use_of(engine, f"budget:tokens:{task.id}").spent == 120
        await answer(engine, 50)
        assert (await engine.ended(run)).state is RunState.SUCCEEDED


async def test_time_and_money_are_counted_too() -> None:
    worker = Worker()

    @worker.service("agent")
    async def agent(ctx: Context) -> str:
        await asyncio.sleep(0.02)
        ctx.report_usage(money=0.25)
        ctx.report_usage(money=0.25)
        return "done"

    async with local_engine(worker, clock="real") as engine:
        run = await start(engine, flow(budget={"money": 1.5, "seconds": 100}))
        await engine.ended(run)
        assert use_of(engine, f"budget:money:{run}").spent == 500_000
        assert 20 <= use_of(engine, f"budget:seconds:{run}").spent < 5_000


async def test_what_is_no_budget_is_refused_with_its_reason() -> None:
    async with local_engine(Worker()) as engine:
        for wrong in ({"token": 5}, {"tokens": "5"}, {"tokens": -1}, 5, {"estimate": {"x": 1}}):
            with pytest.raises(BadRequest):
                await start(engine, flow(), wrong)
        for definition in (flow(budget={"x": 1}), flow(node={"budget": 5})):
            with pytest.raises(DefinitionError):
                await start(engine, definition)
        timer = {"kind": "timer", "params": {"delay_ms": 5}, "budget": {"tokens": 5}}
        with pytest.raises(DefinitionError):
            await start(engine, {"start": "a", "nodes": {"a": timer}})
        with pytest.raises(BadRequest):
            await set_rule(engine.engine, rule("bank", 5))


async def test_planners_and_workers_are_told_what_is_left_and_planning_counts() -> None:
    worker = Worker()
    told: list[tuple[str, Any]] = []

    @worker.service("planner")
    def planner(ctx: Context, input: dict[str, Any]) -> Any:  # noqa: A002  the wire's name
        told.append(("plan", input["budget"]))
        ctx.report_usage(tokens=30)
        second = {"alias": "b", "goal": "then", "worker_profile": "agent", "depends_on": ["a"]}
        return {"tasks": [{"alias": "a", "goal": "first", "worker_profile": "agent"}, second]}

    @worker.service("agent")
    def agent(ctx: Context, input: dict[str, Any]) -> Any:  # noqa: A002  the wire's name
        told.append((input["task"]["alias"], input["budget"]))
        ctx.report_usage(tokens=50)
        return {"did": input["task"]["alias"]}

    async with local_engine(worker) as engine:
        settings = {"goal": "g", "planner_profile": "planner"}
        started, _ = await plans.start(engine.engine, settings, budget={"tokens": 75})
        run = started.run.id
        await until(engine, lambda: bool(questions(engine)))
        assert told == [("plan", {"tokens": 75}), ("a", {"tokens": 45})]
        await answer(engine, 100)
        assert (await engine.ended(run)).state is RunState.SUCCEEDED
        assert told[-1] == ("b", {"tokens": 95})
        assert use_of(engine, f"budget:tokens:{run}").spent == 130


async def test_a_definition_s_budget_stays_while_the_graph_grows() -> None:
    worker = Worker()

    @worker.service("agent")
    def agent(ctx: Context, input: dict[str, Any]) -> Any:  # noqa: A002  the wire's name
        return {"left": input["budget"]}

    plan = {"tasks": [{"alias": "a", "goal": "first", "worker_profile": "agent"}]}
    definition = {"goal": "g", "plan": plan, "budget": {"attempts": 5}}
    async with local_engine(worker) as engine:
        text = msgspec.json.encode(definition).decode()
        row = Flow(id="f", name="f", created_at=1)
        version = Version(id="v", flow_id="f", number=1, dialect="plan", source=text, created_at=1)
        await engine.engine.write(row, version)
        started = await runs.start_run(engine.engine, flows.target_of(row, version))
        ended = await engine.ended(started.run.id)
        assert ended.shared["output"] == {"a": {"left": {"attempts": 5}}}


def ended(state: AttemptState, kind: str = "", notes: str | None = None) -> Attempt:
    return Attempt(
        id="r~a.0@1",
        task_id="r~a.0",
        run_id="r",
        number=1,
        state=state,
        queue="pull:agent",
        worker_id="w",
        lease_until=1,
        claimed_at=1_000,
        finished_at=3_500,
        error=Failure(kind, "no").json() if kind else None,
        notes=notes,
    )


@pytest.mark.parametrize(
    ("unit", "attempt", "used"),
    [
        ("tokens", ended(AttemptState.SUCCEEDED), 0),
        ("tokens", ended(AttemptState.SUCCEEDED, notes=with_usage(None, {"tokens": 7})), 7),
        ("tokens", ended(AttemptState.FAILED, "failed", with_usage(None, {"tokens": 7})), 7),
        ("tokens", ended(AttemptState.LOST, "lost"), 50),
        ("tokens", ended(AttemptState.TIMED_OUT, "timeout"), 50),
        ("tokens", ended(AttemptState.CANCELLED, "cancelled"), 50),
        ("tokens", ended(AttemptState.CANCELLED, "returned"), 0),
        ("attempts", ended(AttemptState.FAILED, "failed"), 1),
        ("attempts", ended(AttemptState.CANCELLED, "returned"), 0),
        ("seconds", ended(AttemptState.LOST, "lost"), 2_500),
    ],
)
def test_who_cannot_say_what_it_used_counts_as_the_most_that_was_seen(
    unit: str, attempt: Attempt, used: int
) -> None:
    key = f"budget:{unit}"
    spend = Spend(LimitUse(id=f"default {key}", tenant="default", key=key, largest=50))
    assert spend.used_by(attempt) == used
