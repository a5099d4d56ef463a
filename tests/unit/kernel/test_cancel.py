"""A cancelled run ends within its grace, whether or not the holders of its attempts answer."""

from tests.workflows import container, edge, node, subgraph, uid, workflow
from windlass.dialects.flow import compile_flow
from windlass.dialects.workflow import compile_workflow
from windlass.kernel.events import AttemptSucceeded, CancelRequested, TimerFired
from windlass.model.rows import Attempt, Timer
from windlass.model.states import AttemptState, RunState, TaskState
from windlass.testing.played import RUN_ID, Played


def test_a_holder_that_never_answers_does_not_keep_a_run_from_ending() -> None:
    node = {"exec_type": "queue", "service": "s"}
    run = Played(compile_flow({"start": "a", "nodes": {"a": node}}))
    (task,) = run.queued()
    held = run.claim(task.id, "silent")
    run.send(CancelRequested(RUN_ID, ""))
    assert run.state() is RunState.CANCELLING
    [timer] = run.tables[Timer].values()
    assert isinstance(timer, Timer)
    assert timer.due_at - run.now == run.limits.cancel_grace_ms
    run.now = timer.due_at
    run.send(TimerFired(timer.id, RUN_ID))
    assert run.state() is RunState.CANCELLED
    attempt = run.tables[Attempt][held.attempt_id]
    assert isinstance(attempt, Attempt)
    assert attempt.state is AttemptState.CANCELLED


def test_a_container_that_waits_for_its_edges_does_not_keep_a_run_from_ending() -> None:
    inside = subgraph("inside", [node("x")])
    nodes = [node("a"), node("b"), container("box", "inside")]
    edges = [edge("a", "box"), edge("b", "box", "out>also")]
    run = Played(compile_workflow(workflow(nodes, edges, subgraphs=[inside])))
    held = run.claim(run.one(uid("b")).id)
    run.succeed(run.one(uid("a")).id, {"y": 1})
    assert run.one(uid("box")).state is TaskState.PENDING
    run.send(CancelRequested(RUN_ID, ""))
    run.send(AttemptSucceeded(held.attempt_id, '{"y": 2}'))
    assert run.state() is RunState.CANCELLED


def test_the_last_attempt_that_fails_in_a_cancelled_run_is_not_tried_again() -> None:
    node = {"exec_type": "queue", "service": "s", "max_retries": 3}
    run = Played(compile_flow({"start": "a", "nodes": {"a": node}}))
    task = run.one("a")
    run.claim(task.id)
    run.send(CancelRequested(RUN_ID))
    run.fail(task.id)
    assert run.one("a").state == "cancelled"
    assert run.state() == "cancelled"
