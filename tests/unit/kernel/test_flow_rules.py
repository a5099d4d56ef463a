"""The rules of flows, each told by a flow that shows it. Time is faked."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from windlass.engine import runs
from windlass.model.errors import Conflict
from windlass.model.rows import read_failure
from windlass.model.states import RunState, TaskState
from windlass.testing.local import LocalEngine, local_engine

pytestmark = pytest.mark.anyio

CALLS: list[Any] = []


def echo(input_: Any, params: dict[str, Any]) -> Any:
    CALLS.append(input_)
    return input_


def boom(input_: Any, params: dict[str, Any]) -> Any:
    CALLS.append(input_)
    raise ValueError("boom")


def odd_fails(input_: Any, params: dict[str, Any]) -> Any:
    if input_ % 2:
        raise ValueError(f"{input_} is odd")
    return input_ * 10


def third_time(input_: Any, params: dict[str, Any]) -> Any:
    CALLS.append(input_)
    if len(CALLS) < 3:
        raise ValueError("not yet")
    return "done"


def see(input_: Any, params: dict[str, Any]) -> Any:
    return {"input": input_, "params": params}


HANDLERS = {
    "echo": echo,
    "boom": boom,
    "odd_fails": odd_fails,
    "third_time": third_time,
    "see": see,
}


@pytest.fixture
async def engine() -> AsyncIterator[LocalEngine]:
    CALLS.clear()
    async with local_engine(HANDLERS, clock="fake") as found:
        yield found


def call(func: str, **extra: Any) -> dict[str, Any]:
    return {"exec_type": "local_func", "func": func, "post": {"output_key": "out"}, **extra}


def flow(*edges: tuple[str, str, str], **nodes: Any) -> dict[str, Any]:
    return {
        "start": next(iter(nodes)),
        "nodes": nodes,
        "edges": [{"from": a, "action": on, "to": b} for a, on, b in edges],
    }


def fan(func: str, **extra: Any) -> dict[str, Any]:
    return call(func, kind="foreach", prep={"input_key": "$params.items"}, **extra)


async def test_a_failed_node_follows_its_error_edge_first(engine: LocalEngine) -> None:
    edges = (("a", "default", "b"), ("a", "error", "c"))
    ended = await engine.run(flow(*edges, a=call("boom"), b=call("echo"), c=call("echo")))
    assert [task.node for task in ended.tasks] == ["a", "c"]
    assert ended.state is RunState.SUCCEEDED
    assert ended.run.failures == 1


async def test_a_failed_node_follows_its_default_edge_when_it_has_no_error_edge(
    engine: LocalEngine,
) -> None:
    ended = await engine.run(flow(("a", "default", "b"), a=call("boom"), b=call("echo")))
    assert ended.state is RunState.SUCCEEDED
    assert ended.tasks[0].state is TaskState.FAILED


async def test_failures_count_the_tasks_that_stand_failed(engine: LocalEngine) -> None:
    definition = flow(("a", "default", "b"), a=call("third_time"), b=call("echo"))
    ended = await engine.run(definition)
    assert (ended.state, ended.run.failures) == (RunState.SUCCEEDED, 1)
    await engine.retry(ended.run.id, "a", descendants=True)
    ended = await engine.ended(ended.run.id)
    assert (ended.state, ended.run.failures) == (RunState.SUCCEEDED, 0)


async def test_with_on_failure_fail_a_failed_node_ends_the_run(engine: LocalEngine) -> None:
    definition = flow(("a", "default", "b"), a=call("boom"), b=call("echo"))
    ended = await engine.run({**definition, "on_failure": "fail"})
    assert ended.state is RunState.FAILED
    failure = read_failure(ended.run.error)
    assert failure is not None
    assert (failure.node, failure.message) == ("a", "ValueError: boom")


async def test_a_failed_node_without_an_edge_fails_the_run(engine: LocalEngine) -> None:
    ended = await engine.run(flow(a=call("boom")))
    assert ended.state is RunState.FAILED
    assert ended.run.finished_at is not None


async def test_an_unmatched_action_falls_back_to_default(engine: LocalEngine) -> None:
    post = {"action_key": "go"}
    first = {**call("echo"), "prep": {"input_key": "$params.x"}, "post": post}
    edges = (("a", "left", "b"), ("a", "default", "c"))
    definition = flow(*edges, a=first, b=call("echo"), c=call("echo"))
    right = await engine.run(definition, {"x": {"go": "right"}})
    left = await engine.run(definition, {"x": {"go": "left"}})
    assert [task.node for task in right.tasks] == ["a", "c"]
    assert [task.node for task in left.tasks] == ["a", "b"]


async def test_retries_pause_longer_each_time_up_to_the_cap(engine: LocalEngine) -> None:
    retry = {"max_retries": 2, "wait_ms": 1000, "backoff": 3, "max_wait_ms": 2000}
    ended = await engine.run(flow(a=call("third_time", **retry)))
    assert ended.shared == {"out": "done"}
    assert len(CALLS) == 3
    run = ended.run
    assert run.finished_at is not None
    assert 3000 <= run.finished_at - run.created_at < 4000


async def test_a_fan_out_gathers_by_position_whatever_finishes_first(engine: LocalEngine) -> None:
    definition = flow(a=fan("odd_fails", parallel_mode="concurrent"))
    ended = await engine.run(definition, {"items": [4, 2, 8]})
    assert ended.shared == {"out": [40, 20, 80]}


@pytest.mark.parametrize(
    ("strategy", "out", "state"),
    [
        (None, [20, None, 40], RunState.FAILED),
        ("continue", [20, None, 40], RunState.SUCCEEDED),
        ("ignore_errors", [20, 40], RunState.SUCCEEDED),
    ],
)
async def test_each_strategy_gives_its_aggregate(
    engine: LocalEngine, strategy: str | None, out: list[Any], state: RunState
) -> None:
    extra = {"failure_strategy": strategy} if strategy else {}
    ended = await engine.run(flow(a=fan("odd_fails", **extra)), {"items": [2, 3, 4]})
    assert (ended.shared, ended.state) == ({"out": out}, state)


async def test_collect_errors_puts_an_entry_where_a_branch_failed(engine: LocalEngine) -> None:
    node = fan("odd_fails", failure_strategy="collect_errors", parallel_mode="concurrent")
    ended = await engine.run(flow(a=node), {"items": [2, 3, 4]})
    first, second, third = ended.shared["out"]
    assert (first, third) == (20, 40)
    assert second["error"]["message"] == "ValueError: 3 is odd"


async def test_fail_fast_stops_at_the_first_failure_and_keeps_the_successes(
    engine: LocalEngine,
) -> None:
    node = fan("odd_fails", failure_strategy="fail_fast")
    ended = await engine.run(flow(a=node), {"items": [2, 3, 4, 6]})
    assert ended.shared == {"out": [20]}
    states = [task.state for task in ended.tasks if task.idx >= 0]
    assert states == [
        TaskState.SUCCEEDED,
        TaskState.FAILED,
        TaskState.CANCELLED,
        TaskState.CANCELLED,
    ]


async def test_an_empty_foreach_writes_an_empty_list(engine: LocalEngine) -> None:
    ended = await engine.run(flow(a=fan("echo")), {"items": []})
    assert (ended.state, ended.shared) == (RunState.SUCCEEDED, {"out": []})


async def test_a_foreach_without_input_writes_no_key(engine: LocalEngine) -> None:
    cases: list[dict[str, Any]] = [{"items": None}, {}]
    for params in cases:
        ended = await engine.run(flow(a=fan("echo")), params)
        assert (ended.state, ended.shared) == (RunState.SUCCEEDED, {})


async def test_a_foreach_over_something_else_says_so(engine: LocalEngine) -> None:
    ended = await engine.run(flow(a=fan("echo")), {"items": "text"})
    failure = read_failure(ended.run.error)
    assert failure is not None
    assert failure.message == "foreach needs a list, its input is a string"


async def test_the_same_service_twice_is_two_branches(engine: LocalEngine) -> None:
    specs = [{"exec_type": "local_func", "func": "see", "params": {"n": n}} for n in (1, 2)]
    node = {"kind": "parallel", "parallel_execs": specs, "post": {"output_key": "out"}}
    ended = await engine.run(flow(a=node))
    assert [result["params"]["n"] for result in ended.shared["out"]] == [1, 2]


async def test_a_branch_is_retried_on_its_own(engine: LocalEngine) -> None:
    node = fan("third_time", max_retries=2, wait_ms=10)
    ended = await engine.run(flow(a=node), {"items": ["x"]})
    branch = next(task for task in ended.tasks if task.idx == 0)
    assert (branch.attempts, branch.failures) == (3, 2)


async def test_run_parameters_win_at_the_top_and_node_parameters_below(
    engine: LocalEngine,
) -> None:
    inner = flow(inner=call("see", params={"a": "inner"}))
    nodes = {
        "top": {**call("see", params={"a": "node", "b": 1}), "post": {"output_key": "top"}},
        "sub": {"kind": "subflow", "subflow": inner, "post": {"output_key": "sub"}},
    }
    ended = await engine.run(flow(("top", "default", "sub"), **nodes), {"a": "run"})
    assert ended.shared["top"]["params"] == {"a": "run", "b": 1}
    assert ended.shared["sub"]["out"]["params"] == {"a": "inner"}


async def test_subflows_nest_and_keep_their_shared_state_apart(engine: LocalEngine) -> None:
    deepest = flow(x=call("see", prep={"input_key": "$shared.secret"}))
    middle = flow(m={"kind": "subflow", "subflow": deepest, "post": {"output_key": "deep"}})
    nodes = {
        "first": {
            **call("echo"),
            "prep": {"input_key": "$params.s"},
            "post": {"output_key": "secret"},
        },
        "sub": {"kind": "subflow", "subflow": middle, "post": {"output_key": "result"}},
    }
    ended = await engine.run(flow(("first", "default", "sub"), **nodes), {"s": "hidden"})
    assert ended.shared["result"]["deep"]["out"]["input"] is None


async def test_every_kind_works_inside_a_subflow(engine: LocalEngine) -> None:
    inner = flow(
        ("nap", "default", "each"),
        ("each", "default", "pick"),
        ("pick", "yes", "wait"),
        ("wait", "default", "ask"),
        nap={"kind": "timer", "params": {"delay_ms": 5000}},
        each=fan("echo"),
        pick={
            "kind": "choice",
            "choice_cases": [{"action": "yes", "expr": {"exists": "$shared.out"}}],
        },
        wait={"kind": "wait_event", "params": {"signal_key": "$shared.go"}},
        ask={"kind": "approval", "params": {"approval_key": "$shared.ok"}},
    )
    node = {"kind": "subflow", "subflow": inner, "post": {"output_key": "sub"}}
    run_id = await engine.start(flow(sub=node), {"items": [1, 2]})
    await runs.signal(engine.engine, run_id, "go", "true")
    await runs.signal(engine.engine, run_id, "ok", '"approved"')
    ended = await engine.ended(run_id)
    assert ended.state is RunState.SUCCEEDED
    assert ended.shared["sub"]["out"] == [1, 2]


async def test_a_sub_node_that_fails_fails_its_subflow_with_what_it_had(
    engine: LocalEngine,
) -> None:
    inner = flow(("a", "default", "b"), a=call("echo", prep={"input_key": "$params.x"}))
    inner["nodes"]["b"] = call("boom", post={})
    node = {"kind": "subflow", "subflow": inner, "post": {"output_key": "sub"}}
    edges = (("s", "error", "after"),)
    ended = await engine.run(flow(*edges, s=node, after=call("echo", post={})), {"x": 7})
    assert ended.shared == {"sub": {"out": 7}}
    assert ended.tasks[-1].node == "after"


async def test_a_subflow_may_retry_what_failed_in_it(engine: LocalEngine) -> None:
    node = {
        "kind": "subflow",
        "subflow": flow(a=call("third_time")),
        "failure_strategy": "retry",
        "max_retries": 2,
        "wait_ms": 100,
        "post": {"output_key": "sub"},
    }
    ended = await engine.run(flow(s=node))
    assert ended.shared == {"sub": {"out": "done"}}


async def test_a_subflow_that_takes_too_long_follows_its_timeout_edge(
    engine: LocalEngine,
) -> None:
    slow = flow(nap={"kind": "timer", "params": {"delay_ms": 60_000}})
    node = {"kind": "subflow", "subflow": slow, "timeout_ms": 1000}
    ended = await engine.run(flow(("s", "timeout", "late"), s=node, late=call("echo")))
    assert [task.node for task in ended.tasks if task.idx < 0 and task.scope == ended.run.id] == [
        "s",
        "late",
    ]
    inner = next(task for task in ended.tasks if task.node == "s/nap")
    assert inner.state is TaskState.CANCELLED


async def test_a_wait_that_gets_nothing_takes_its_timeout_edge(engine: LocalEngine) -> None:
    node = {"kind": "wait_event", "params": {"signal_key": "$shared.x", "timeout_ms": 500}}
    ended = await engine.run(flow(("w", "timeout", "late"), w=node, late=call("echo")))
    assert ended.tasks[-1].node == "late"


async def test_a_signal_that_came_early_is_not_lost(engine: LocalEngine) -> None:
    nap = {"kind": "timer", "params": {"delay_ms": 1000}}
    node = {"kind": "wait_event", "params": {"signal_key": "$shared.x"}}
    node["post"] = {"output_key": "got"}
    run_id = await engine.start(flow(("n", "default", "w"), n=nap, w=node))
    await runs.signal(engine.engine, run_id, "x", '{"v":1}')
    ended = await engine.ended(run_id)
    assert ended.shared["got"] == {"v": 1}


async def test_an_approval_may_be_refused_with_false(engine: LocalEngine) -> None:
    node = {"kind": "approval", "params": {"approval_key": "$params.ok"}}
    edges = (("a", "approved", "yes"), ("a", "rejected", "no"))
    definition = flow(*edges, a=node, yes=call("echo"), no=call("echo"))
    for ok, last in ((True, "yes"), (False, "no"), ("approved", "yes")):
        ended = await engine.run(definition, {"ok": ok})
        assert ended.tasks[-1].node == last


async def test_a_loop_visits_its_node_anew(engine: LocalEngine) -> None:
    nodes = {
        "work": call("third_time", max_retries=0),
        "again": {
            "kind": "choice",
            "choice_cases": [{"action": "stop", "expr": {"eq": ["$shared.out", "done"]}}],
            "default_action": "go",
        },
    }
    edges = (("work", "default", "again"), ("again", "go", "work"))
    ended = await engine.run(flow(*edges, **nodes))
    visits = [task.id.rpartition("~")[2] for task in ended.tasks if task.node == "work"]
    assert visits == ["work.1", "work.3", "work.5"]


async def test_cancelling_twice_or_after_the_end_is_refused_clearly(engine: LocalEngine) -> None:
    run_id = await engine.start(flow(a={"kind": "approval", "params": {}}))
    await runs.cancel(engine.engine, run_id)
    ended = await engine.ended(run_id)
    assert ended.state is RunState.CANCELLED
    with pytest.raises(Conflict, match="is already cancelled"):
        await runs.cancel(engine.engine, run_id)


async def test_retrying_from_a_task_restores_what_was_shared_then(engine: LocalEngine) -> None:
    nodes = {
        "a": {**call("echo"), "prep": {"input_key": "$params.x"}, "post": {"output_key": "v"}},
        "b": call("see", prep={"input_key": "$shared.v"}, post={"output_key": "b"}),
        "c": {**call("echo"), "prep": {"input_key": "$params.y"}, "post": {"output_key": "v"}},
    }
    ended = await engine.run(
        flow(("a", "default", "b"), ("b", "default", "c"), **nodes), {"x": 1, "y": 2}
    )
    assert ended.shared["v"] == 2
    await runs.retry(engine.engine, ended.run.id, "b", descendants=True)
    again = await engine.ended(ended.run.id)
    assert again.shared["b"]["input"] == 1
    assert again.shared["v"] == 2
    assert again.run.generation == 1
