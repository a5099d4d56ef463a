"""A run whose parts went on side by side goes on where it failed, each part where it stood."""

import json
from typing import Any

import pytest

from tests.workflows import container, edge, node, subgraph, uid, workflow
from windlass.dialects.workflow import compile_workflow
from windlass.kernel.events import (
    AttemptFailed,
    AttemptSucceeded,
    CancelRequested,
    RetryRequested,
    TimerFired,
)
from windlass.model.errors import Conflict, NotFound, StaleLease
from windlass.model.rows import Failure
from windlass.model.states import RunState, TaskState
from windlass.testing.played import Played


def played(nodes: list[Any], edges: list[Any] | None = None, **fields: Any) -> Played:
    return Played(compile_workflow(workflow(nodes, edges, **fields)))


def retry(run: Played, task: str | None = None, *, descendants: bool = False) -> str:
    answer: str = run.send(RetryRequested(run.row().id, task, descendants))
    return answer


def drain(run: Played, result: Any = None) -> None:
    """Let everything that is queued succeed until nothing is."""
    while run.queued():
        run.succeed(run.queued()[0].id, result)


def diamond() -> Played:
    nodes = [node(name) for name in ("a", "b", "c", "end")]
    edges = [
        edge("a", "b"),
        edge("a", "c"),
        edge("b", "end"),
        edge("c", "end", "out>also"),
    ]
    run = played(nodes, edges)
    run.succeed(run.one(uid("a")).id, {"y": 0})
    return run


def test_a_failed_task_is_done_again_and_the_join_still_counts_right() -> None:
    run = diamond()
    run.succeed(run.one(uid("b")).id, {"y": 1})
    run.fail(run.one(uid("c")).id)
    assert run.state() is RunState.FAILED
    assert run.states()[uid("end")] == "cancelled"
    assert retry(run) == run.one(uid("c")).id
    assert run.state() is RunState.RUNNING
    assert run.states()[uid("end")] == "pending"
    run.succeed(run.one(uid("c")).id, {"y": 2})
    assert json.loads(run.one(uid("end")).input or "") == {"x": 1, "z": 2}
    drain(run)
    assert run.state() is RunState.SUCCEEDED
    assert (run.row().open, run.row().active, run.row().generation) == (0, 0, 1)


def test_what_was_cancelled_with_it_goes_on_too() -> None:
    run = diamond()
    run.claim(run.one(uid("b")).id)
    run.fail(run.one(uid("c")).id)
    assert run.states()[uid("b")] == "cancelled"
    retry(run, uid("c"))
    assert [task.node for task in run.queued()] == [uid("b"), uid("c")]
    drain(run)
    assert run.state() is RunState.SUCCEEDED


def test_a_cancelled_run_can_go_on_as_well() -> None:
    run = diamond()
    run.send(CancelRequested(run.row().id))
    assert run.state() is RunState.CANCELLED
    retry(run)
    drain(run)
    assert run.state() is RunState.SUCCEEDED


def test_containers_around_it_are_opened_again() -> None:
    inner = subgraph("g", [node("p"), node("q"), node("r")], [edge("p", "r"), edge("q", "r")])
    nodes = [container("box", "g"), node("side"), node("end")]
    edges = [edge("box", "end", ">"), edge("side", "end")]
    run = played(nodes, edges, subgraphs=[inner])
    run.succeed(run.one(f"{uid('box')}/{uid('p')}").id)
    run.fail(run.one(f"{uid('box')}/{uid('q')}").id)
    assert run.state() is RunState.FAILED
    retry(run)
    assert run.one(uid("box")).state is TaskState.RUNNING
    drain(run)
    assert run.state() is RunState.SUCCEEDED
    assert all(task.open == 0 for task in run.tasks())


def test_a_container_that_ran_out_of_time_gets_it_again() -> None:
    box = container("box", "g", inside={"timeoutSeconds": 1})
    run = played([box], subgraphs=[subgraph("g", [node("p")])])
    run.now += 1000
    run.send(TimerFired(f"{run.one(uid('box')).id}!timeout", run.row().id))
    assert run.state() is RunState.FAILED
    retry(run)
    drain(run)
    assert run.state() is RunState.SUCCEEDED


def test_a_loop_goes_on_in_the_iteration_that_failed() -> None:
    box = container("box", "g", inside={"loop": {"enabled": True, "maxIterations": 3}})
    run = played([box], subgraphs=[subgraph("g", [node("p")])])
    run.succeed(run.queued()[0].id)
    run.fail(run.queued()[0].id)
    retry(run)
    drain(run)
    assert run.state() is RunState.SUCCEEDED
    assert len(run.tasks(f"{uid('box')}/body")) == 3


def test_a_middleware_is_retried_and_calls_anew() -> None:
    run = played([node("host", middlewares=[node("m", id="m")])])
    outer = run.one(f"{uid('host')}/m")
    called = run.call_next(outer.id, "r")
    run.fail(called.task_id)
    run.fail(outer.id)
    assert retry(run) == outer.id
    assert [task.id for task in run.queued()] == [outer.id]
    again = run.call_next(outer.id, "r")
    assert again.task_id != called.task_id
    run.succeed(again.task_id)
    run.succeed(outer.id)
    assert run.state() is RunState.SUCCEEDED


def test_what_is_refused_says_why() -> None:
    run = diamond()
    with pytest.raises(Conflict, match="retry it once it has ended"):
        retry(run)
    drain(run)
    with pytest.raises(Conflict, match="no failed task"):
        retry(run)
    with pytest.raises(Conflict, match="not failed"):
        retry(run, uid("a"))
    with pytest.raises(NotFound, match="no task"):
        retry(run, "nobody", descendants=True)


def test_what_has_not_begun_cannot_be_redone() -> None:
    run = diamond()
    run.succeed(run.one(uid("b")).id, {"y": 1})
    with pytest.raises(Conflict, match="has not begun"):
        retry(run, uid("end"), descendants=True)
    attempt = run.claim(run.one(uid("c")).id)
    run.send(CancelRequested(run.row().id))
    with pytest.raises(Conflict, match="retry it once it is cancelled"):
        retry(run, uid("b"), descendants=True)
    run.send(AttemptFailed(attempt.attempt_id, Failure("cancelled", "stopped")))
    with pytest.raises(Conflict, match="has not begun"):
        retry(run, uid("end"), descendants=True)


def test_retry_from_redoes_what_came_of_a_task_and_keeps_its_siblings() -> None:
    run = diamond()
    run.succeed(run.one(uid("b")).id, {"y": 1})
    run.succeed(run.one(uid("c")).id, {"y": 2})
    drain(run, {"y": 3})
    assert retry(run, uid("b"), descendants=True) == run.one(uid("b")).id
    assert run.states()[uid("end")] == "superseded"
    assert [task.node for task in run.queued()] == [uid("b")]
    run.succeed(run.one(uid("b")).id, {"y": 10})
    end = run.one(uid("end"))
    assert (end.state, json.loads(end.input or "")) == (TaskState.QUEUED, {"x": 10, "z": 2})
    assert (end.edges_open, end.edges_fired, end.output) == (0, 2, None)
    drain(run)
    assert run.state() is RunState.SUCCEEDED
    assert [run.one(uid(name)).attempts for name in ("a", "b", "c", "end")] == [1, 2, 1, 2]
    assert (run.row().open, run.row().active, run.row().generation) == (0, 0, 1)


def test_a_join_waits_for_what_is_redone_and_what_still_runs() -> None:
    run = diamond()
    run.succeed(run.one(uid("b")).id, {"y": 1})
    held = run.claim(run.one(uid("c")).id)
    retry(run, uid("b"), descendants=True)
    assert run.row().generation == 1, "the next visits look for tasks of the first time"
    run.send(AttemptSucceeded(held.attempt_id, '{"y": 2}'))
    assert run.states()[uid("end")] == "pending"
    run.succeed(run.one(uid("b")).id, {"y": 10})
    assert json.loads(run.one(uid("end")).input or "") == {"x": 10, "z": 2}


def test_a_task_that_runs_is_redone_and_its_old_attempt_is_stale() -> None:
    run = diamond()
    held = run.claim(run.one(uid("b")).id)
    retry(run, uid("b"), descendants=True)
    with pytest.raises(StaleLease):
        run.send(AttemptSucceeded(held.attempt_id, '{"y": 1}'))
    drain(run)
    assert run.state() is RunState.SUCCEEDED


def test_a_redo_opens_what_a_failure_had_cancelled_beside_it() -> None:
    run = diamond()
    run.claim(run.one(uid("b")).id)
    run.fail(run.one(uid("c")).id)
    retry(run, uid("c"), descendants=True)
    assert sorted(task.node for task in run.queued()) == sorted([uid("b"), uid("c")])
    drain(run)
    assert run.state() is RunState.SUCCEEDED


def test_a_container_is_redone_with_all_that_is_in_it() -> None:
    inner = subgraph("g", [node("p"), node("q")], [edge("p", "q")])
    run = played([container("box", "g"), node("end")], [edge("box", "end", ">")], subgraphs=[inner])
    drain(run, {"y": 1})
    retry(run, uid("box"), descendants=True)
    assert [task.node for task in run.queued()] == [f"{uid('box')}/{uid('p')}"]
    assert run.one(f"{uid('box')}/{uid('q')}").state is TaskState.SUPERSEDED
    drain(run, {"y": 2})
    assert run.state() is RunState.SUCCEEDED
    assert list(json.loads(run.one(uid("box")).output or "").values()) == [{"y": 2}]


def test_a_loop_that_is_redone_from_the_middle_has_its_other_iterations_again() -> None:
    box = container("box", "g", inside={"loop": {"enabled": True, "maxIterations": 3}})
    run = played([box], subgraphs=[subgraph("g", [node("p")])])
    drain(run)
    second = run.tasks(f"{uid('box')}/body/{uid('p')}")[1]
    retry(run, second.id, descendants=True)
    drain(run)
    assert run.state() is RunState.SUCCEEDED
    inner = run.tasks(f"{uid('box')}/body/{uid('p')}")
    assert [task.attempts for task in inner] == [1, 2, 2]


def test_what_a_middleware_called_for_is_redone_with_its_caller() -> None:
    run = played(
        [node("host", middlewares=[node("m", id="m")]), node("end")], [edge("host", "end")]
    )
    outer = run.one(f"{uid('host')}/m")
    called = run.call_next(outer.id, "r")
    run.succeed(called.task_id)
    run.succeed(outer.id)
    drain(run)
    assert retry(run, called.task_id, descendants=True) == outer.id
    assert run.task(called.task_id).state is TaskState.SUPERSEDED
    assert [task.id for task in run.queued()] == [outer.id]
    again = run.call_next(outer.id, "r")
    run.succeed(again.task_id)
    run.succeed(outer.id)
    drain(run)
    assert run.state() is RunState.SUCCEEDED


def test_a_container_whose_last_task_ended_during_the_cancellation_comes_to_its_end() -> None:
    run = played([container("box", "g")], subgraphs=[subgraph("g", [node("p")])])
    held = run.claim(run.queued()[0].id)
    run.send(CancelRequested(run.row().id))
    run.send(AttemptSucceeded(held.attempt_id, "{}"))
    assert run.state() is RunState.CANCELLED
    retry(run)
    assert run.state() is RunState.SUCCEEDED


def test_a_task_that_could_not_begin_would_fail_again() -> None:
    takes = {"parameters": {"type": "object", "properties": {"x": {"type": "integer"}}}}
    run = played([node("a"), node("b", schema=takes)], [edge("a", "b")])
    run.succeed(run.one(uid("a")).id, {"y": "no"})
    with pytest.raises(Conflict, match="would fail again"):
        retry(run)


def test_what_succeeded_while_the_run_was_being_cancelled_still_leads_on() -> None:
    run = diamond()
    attempt = run.claim(run.one(uid("b")).id)
    other = run.claim(run.one(uid("c")).id)
    run.send(CancelRequested(run.row().id))
    assert run.state() is RunState.CANCELLING
    run.send(AttemptSucceeded(attempt.attempt_id, '{"y": 1}'))
    run.send(AttemptFailed(other.attempt_id, Failure("cancelled", "stopped")))
    assert run.state() is RunState.CANCELLED
    retry(run)
    run.succeed(run.one(uid("c")).id, {"y": 2})
    assert json.loads(run.one(uid("end")).input or "") == {"x": 1, "z": 2}
    drain(run)
    assert run.state() is RunState.SUCCEEDED


def test_a_join_whose_last_edge_came_during_the_cancellation_begins_at_once() -> None:
    run = diamond()
    run.succeed(run.one(uid("b")).id, {"y": 1})
    attempt = run.claim(run.one(uid("c")).id)
    run.send(CancelRequested(run.row().id))
    run.send(AttemptSucceeded(attempt.attempt_id, '{"y": 2}'))
    assert run.state() is RunState.CANCELLED
    retry(run)
    assert [task.node for task in run.queued()] == [uid("end")]
    drain(run)
    assert run.state() is RunState.SUCCEEDED
    assert (run.row().open, run.row().active) == (0, 0)
