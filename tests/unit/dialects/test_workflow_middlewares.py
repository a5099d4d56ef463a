"""Middlewares: each calls for the next, the last for the node; nothing of it is lost or doubled."""

import json
from typing import Any

import pytest

from tests.workflows import container, edge, node, port, subgraph, uid, workflow
from windlass.dialects.workflow import compile_workflow, outline
from windlass.kernel.events import CancelRequested, LeaseExpired, NextRequested
from windlass.model.errors import Conflict, StaleLease
from windlass.model.ids import attempt_id
from windlass.model.rows import Task
from windlass.model.states import RunState, TaskState
from windlass.testing.played import Played

HOST = uid("host")
OUTER, INNER, ITSELF = f"{HOST}/outer", f"{HOST}/inner", f"{HOST}/host"


def middleware(name: str, **fields: Any) -> dict[str, Any]:
    return node(name, id=name, role="middleware", **fields)


def hosted(*names: str, edges: list[Any] | None = None, **host: Any) -> dict[str, Any]:
    """a → host → b, where `host` has the middlewares named."""
    nodes = [node("a"), node("host", middlewares=[middleware(n) for n in names], **host), node("b")]
    return workflow(nodes, edges or [edge("a", "host"), edge("host", "b")])


def begun(definition: dict[str, Any] | None = None) -> Played:
    run = Played(compile_workflow(definition or hosted("outer", "inner")))
    run.succeed(run.one(uid("a")).id, {"y": 1})
    return run


def given(task: Task) -> Any:
    return json.loads(task.input or "null")


def output(task: Task) -> Any:
    return json.loads(task.output or "null")


def test_the_outermost_begins_alone_and_each_calls_for_the_next() -> None:
    run = begun()
    assert [task.node for task in run.queued()] == [OUTER]
    called = run.call_next(run.one(OUTER).id, "r1")
    assert not called.ended
    assert run.task(called.task_id).node == INNER
    innermost = run.call_next(called.task_id, "r2")
    host = run.task(innermost.task_id)
    assert host.node == ITSELF
    assert given(host) == {"x": 1}
    run.succeed(host.id, {"y": 2})
    run.succeed(called.task_id, {"seen": 1})
    run.succeed(run.one(OUTER).id, {"seen": 2})
    assert output(run.one(HOST)) == {
        "host": {"y": 2},
        "#inner": {"seen": 1},
        "#outer": {"seen": 2},
    }
    assert given(run.one(uid("b"))) == {"x": 2}
    run.succeed(run.one(uid("b")).id)
    assert run.state() is RunState.SUCCEEDED
    assert run.row().open == 0


def test_the_same_request_calls_once_and_learns_of_the_end() -> None:
    run = begun(hosted("outer"))
    outer = run.one(OUTER)
    first, second = run.call_next(outer.id, "r"), run.call_next(outer.id, "r")
    assert first == second
    assert len(run.tasks(ITSELF)) == 1
    run.succeed(first.task_id, {"y": 2})
    ended = run.call_next(outer.id, "r")
    assert ended.ended
    assert json.loads(ended.output or "") == {"y": 2}
    assert len(run.tasks(ITSELF)) == 1


def test_a_middleware_may_call_again_and_again_and_the_last_result_counts() -> None:
    run = begun(hosted("outer"))
    for turn in range(3):
        called = run.call_next(run.one(OUTER).id, f"r{turn}")
        run.succeed(called.task_id, {"y": turn})
    run.succeed(run.one(OUTER).id)
    assert len(run.tasks(ITSELF)) == 3
    assert given(run.one(uid("b"))) == {"x": 2}


def test_a_failure_is_for_the_caller_to_judge() -> None:
    run = begun(hosted("outer"))
    called = run.call_next(run.one(OUTER).id, "r1")
    run.fail(called.task_id, "no luck")
    answer = run.call_next(run.one(OUTER).id, "r1")
    assert answer.state is TaskState.FAILED
    assert "no luck" in (answer.error or "")
    assert run.state() is RunState.RUNNING
    again = run.call_next(run.one(OUTER).id, "r2")
    run.succeed(again.task_id, {"y": 2})
    run.succeed(run.one(OUTER).id)
    assert given(run.one(uid("b"))) == {"x": 2}


def test_a_middleware_that_fails_fails_its_host() -> None:
    run = begun()
    called = run.call_next(run.one(OUTER).id, "r1")
    run.fail(run.one(OUTER).id)
    assert run.task(called.task_id).state is TaskState.CANCELLED
    assert run.states()[HOST] == "failed"
    assert run.state() is RunState.FAILED


def test_what_is_still_open_when_the_outermost_ends_is_cancelled() -> None:
    run = begun()
    inner = run.call_next(run.one(OUTER).id, "r1")
    host = run.call_next(inner.task_id, "r2")
    run.claim(host.task_id)
    run.succeed(run.one(OUTER).id, {"done": 1})
    assert run.task(inner.task_id).state is TaskState.CANCELLED
    assert run.task(host.task_id).state is TaskState.CANCELLED
    assert run.states()[HOST] == "succeeded"
    assert given(run.one(uid("b"))) == {}
    with pytest.raises(StaleLease):
        run.succeed(host.task_id, {"y": 9})


def test_an_outermost_that_is_skipped_skips_its_host() -> None:
    run = begun()
    run.succeed(run.one(OUTER).id, {}, skipped=True)
    assert run.states()[HOST] == "skipped"
    assert run.states()[uid("b")] == "skipped"
    assert run.state() is RunState.SUCCEEDED


def test_a_lost_middleware_starts_over_and_what_it_called_for_is_dropped() -> None:
    run = begun(hosted("outer"))
    called = run.call_next(run.one(OUTER).id, "r1")
    outer = run.one(OUTER)
    run.now += 60_000
    run.send(LeaseExpired(attempt_id(outer.id, 1), run.now - 1))
    assert run.task(called.task_id).state is TaskState.CANCELLED
    assert run.one(OUTER).state is TaskState.QUEUED
    again = run.call_next(outer.id, "r1")
    assert again.task_id != called.task_id
    run.succeed(again.task_id, {"y": 4})
    run.succeed(outer.id)
    assert given(run.one(uid("b"))) == {"x": 4}


def test_only_a_live_attempt_may_call_and_only_for_what_comes_next() -> None:
    run = begun(hosted("outer"))
    outer = run.one(OUTER)
    run.claim(outer.id)
    with pytest.raises(Conflict, match="cannot call for"):
        run.send(NextRequested(attempt_id(outer.id, 1), "r", target="elsewhere"))
    called = run.call_next(outer.id, "r")
    with pytest.raises(Conflict, match="nothing after it"):
        run.call_next(called.task_id, "r")
    run.succeed(outer.id)
    with pytest.raises(StaleLease):
        run.call_next(outer.id, "r2")


def test_a_run_that_is_being_cancelled_begins_nothing_more() -> None:
    run = begun(hosted("outer"))
    outer = run.one(OUTER)
    run.claim(outer.id)
    run.send(CancelRequested(run.row().id))
    with pytest.raises(Conflict, match="being cancelled"):
        run.call_next(outer.id, "r")
    run.succeed(outer.id)
    assert run.state() is RunState.CANCELLED


def test_a_payload_may_change_the_parameters_of_what_is_called_for() -> None:
    run = begun(hosted("outer", parameters={"p": 1}))
    outer = run.one(OUTER).id
    called = run.call_next(outer, "r1", {"parameters": {"p": 2, "q": 3}, "note": 1})
    assert given(run.task(called.task_id)) == {"p": 2, "q": 3, "x": 1}
    plain = run.call_next(outer, "r2", ["anything"])
    assert given(run.task(plain.task_id)) == {"p": 1, "x": 1}


def test_parameters_the_schema_refuses_end_the_call_at_once() -> None:
    schema = {"parameters": {"type": "object", "properties": {"p": {"type": "integer"}}}}
    run = begun(hosted("outer", schema=schema))
    called = run.call_next(run.one(OUTER).id, "r", {"parameters": {"p": "no"}})
    assert called.state is TaskState.FAILED
    assert "E.CMD.INVALID_PARAMETERS" in (called.error or "")
    assert run.state() is RunState.RUNNING


def test_ports_of_middlewares_carry_values_in_and_out() -> None:
    edges = [
        edge("a", "host", "out>mw:outer:input:in"),
        edge("host", "b", "mw:outer:output:out>in"),
    ]
    run = begun(hosted("outer", edges=edges))
    assert given(run.one(OUTER)) == {"x": 1}
    run.succeed(run.one(OUTER).id, {"y": "from outer"})
    assert given(run.one(uid("b"))) == {"x": "from outer"}


def test_a_condition_on_the_host_holds_for_its_middlewares_too() -> None:
    definition = hosted("outer", conditions={"when": {"path": "parameters.x", "equals": 2}})
    run = begun(definition)
    assert run.states()[HOST] == "skipped"
    assert run.tasks(OUTER) == []


def test_a_container_may_have_middlewares() -> None:
    ui = {
        "inputPorts": [port("in", "parameters.x", prefix=f"#{uid('n')}")],
        "outputPorts": [port("out", "results.y", prefix=f"#{uid('n')}")],
    }
    box = container("host", "g", ui=ui, middlewares=[middleware("outer")])
    made = workflow(
        [node("a"), box, node("b")],
        [edge("a", "host"), edge("host", "b")],
        subgraphs=[subgraph("g", [node("n")])],
    )
    run = begun(made)
    called = run.call_next(run.one(OUTER).id, "r")
    [inner] = [task for task in run.queued() if task.node == f"{ITSELF}/{uid('n')}"]
    assert given(inner) == {"x": 1}
    run.succeed(inner.id, {"y": 5})
    assert run.task(called.task_id).state is TaskState.SUCCEEDED
    run.succeed(run.one(OUTER).id)
    assert given(run.one(uid("b"))) == {"x": 5}


def test_a_called_container_is_cancelled_with_all_that_is_in_it() -> None:
    box = container("host", "g", middlewares=[middleware("outer")])
    made = workflow(
        [node("a"), box], [edge("a", "host", ">")], subgraphs=[subgraph("g", [node("n")])]
    )
    run = begun(made)
    called = run.call_next(run.one(OUTER).id, "r")
    run.succeed(run.one(OUTER).id)
    assert run.task(called.task_id).state is TaskState.CANCELLED
    assert run.states()[f"{ITSELF}/{uid('n')}"] == "cancelled"
    assert run.state() is RunState.SUCCEEDED


def test_the_outline_tells_middlewares_from_their_host() -> None:
    places = outline(hosted("outer", "inner"))
    assert places[HOST].middlewares == ("outer", "inner")
    assert (places[OUTER].role, places[OUTER].host) == ("middleware", HOST)
    assert (places[ITSELF].role, places[ITSELF].node) == ("host", HOST)
