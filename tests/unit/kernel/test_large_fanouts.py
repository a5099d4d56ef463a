"""Of a large fan-out only so many branches are open at once; all of them are done all the same."""

import json
from typing import Any, cast

import pytest

from windlass.dialects.flow import compile_flow
from windlass.kernel.bounds import Limits
from windlass.kernel.events import CancelRequested, RetryRequested, TimerFired
from windlass.model.rows import Task, Timer
from windlass.model.states import TASK_ENDED, RunState
from windlass.testing.played import RUN_ID, Played

ITEMS = 23
OPEN = 6
SLICE = 2


def fan_out(open_max: int = OPEN, **node: Any) -> Played:
    body = {
        "kind": "foreach",
        "exec_type": "queue",
        "service": "s",
        "prep": {"input_key": "$params.items"},
        "post": {"output_key": "out"},
        "parallel_mode": "concurrent",
        **node,
    }
    limits = Limits(branches_per_turn=SLICE, branches_open=open_max)
    graph = compile_flow({"start": "a", "nodes": {"a": body}})
    return Played(graph, {"items": list(range(ITEMS))}, limits)


def open_branches(run: Played) -> list[Task]:
    return [task for task in run.tasks() if task.idx >= 0 and task.state not in TASK_ENDED]


def fire_due(run: Played) -> None:
    timers = cast("dict[str, Timer]", run.tables.setdefault(Timer, {}))
    while due := [timer for timer in timers.values() if timer.due_at <= run.now]:
        run.send(TimerFired(due[0].id, due[0].run_id))


def results(run: Played) -> Any:
    return json.loads(run.one("a").output or "null")


def finish(run: Played) -> int:
    """Do all that is queued, one after the other; how many were open at most."""
    fire_due(run)
    most = len(open_branches(run))
    while run.state() is RunState.RUNNING:
        task = run.queued()[0]
        run.succeed(task.id, task.idx)
        fire_due(run)
        most = max(most, len(open_branches(run)))
    return most


@pytest.mark.parametrize("max_parallel", [0, 3, 50])
@pytest.mark.parametrize("open_max", [1, 2, OPEN, 1000])
def test_it_is_done_to_the_end_with_so_many_open(max_parallel: int, open_max: int) -> None:
    run = fan_out(open_max, max_parallel=max_parallel)
    assert finish(run) <= open_max
    assert run.state() is RunState.SUCCEEDED
    assert results(run) == list(range(ITEMS))


def test_as_many_are_open_as_may_be() -> None:
    run = fan_out()
    fire_due(run)
    assert len(open_branches(run)) == OPEN


def test_a_cancelled_one_ends_what_is_open_and_makes_no_more() -> None:
    run = fan_out()
    fire_due(run)
    run.send(CancelRequested(RUN_ID, ""))
    assert run.state() is RunState.CANCELLED
    assert len(run.tasks()) == 1 + OPEN
    assert not run.tables[Timer]


def test_one_that_failed_goes_on_where_it_was_when_it_is_retried() -> None:
    run = fan_out(failure_strategy="fail_fast")
    fire_due(run)
    first = run.queued()[0]
    run.fail(first.id)
    assert run.state() is RunState.FAILED
    run.send(RetryRequested(RUN_ID, first.id))
    assert finish(run) <= OPEN
    assert run.state() is RunState.SUCCEEDED
    assert results(run) == list(range(ITEMS))


@pytest.mark.parametrize("others", [1, 4, 1000])
def test_it_goes_on_where_a_server_with_another_bound_took_it_up(others: int) -> None:
    run = fan_out()
    fire_due(run)
    for task in run.queued()[: OPEN // 2]:
        run.limits = Limits(branches_per_turn=SLICE, branches_open=others)
        run.succeed(task.id, task.idx)
    run.limits = Limits(branches_per_turn=SLICE, branches_open=OPEN)
    run.now += 30_000
    finish(run)
    assert results(run) == list(range(ITEMS))
