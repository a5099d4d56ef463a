"""Containers: what goes in, what comes out, however deep, and again while a loop goes on."""

import json
from typing import Any

from tests.workflows import container, edge, node, port, subgraph, uid, workflow
from windlass.dialects.workflow import compile_workflow, outline
from windlass.model.graph import Graph
from windlass.model.rows import Task
from windlass.model.states import RunState
from windlass.testing.played import Played


def path(*names: str) -> str:
    return "/".join(name if name in ("body", "again", "host") else uid(name) for name in names)


def given(task: Task) -> Any:
    return json.loads(task.input or "null")


def output(task: Task) -> Any:
    return json.loads(task.output or "null")


def inward(key: str, at: str, name: str) -> dict[str, Any]:
    return port(key, at, prefix=f"#{uid(name)}")


def boxed(**more: Any) -> Graph:
    """a → box(first → last) → b, with values going in to `first` and out of `last`."""
    ui = {
        "inputPorts": [inward("in", "parameters.deep.x", "first"), port("plain", "parameters.p")],
        "outputPorts": [inward("out", "results.y", "last"), port("only", "results.z")],
    }
    box = container("box", "g", ui=ui, **more)
    inner = subgraph("g", [node("first"), node("last")], [edge("first", "last")])
    edges = [edge("a", "box"), edge("box", "b"), edge("box", "b", "only>also")]
    return compile_workflow(workflow([node("a"), box, node("b")], edges, subgraphs=[inner]))


def test_values_go_into_a_container_and_come_out_of_it() -> None:
    run = Played(boxed())
    run.succeed(run.one(uid("a")).id, {"y": 1})
    box = run.one(uid("box"))
    assert given(box) == {f"#{uid('first')}": {"deep": {"x": 1}}}
    first = run.one(path("box", "first"))
    assert given(first) == {"deep": {"x": 1}}
    assert first.id == f"{box.id}~{uid('first')}.0"
    run.succeed(first.id, {"y": 2})
    run.succeed(run.one(path("box", "last")).id, {"y": 3, "z": 4})
    last = {"y": 3, "z": 4}
    assert output(run.one(uid("box"))) == {f"#{uid('last')}": last}
    assert given(run.one(uid("b"))) == {"x": 3, "z": 4}
    run.succeed(run.one(uid("b")).id)
    assert run.state() is RunState.SUCCEEDED


def test_a_failure_inside_fails_the_container_and_the_run() -> None:
    run = Played(boxed())
    run.succeed(run.one(uid("a")).id)
    run.fail(run.one(path("box", "first")).id)
    assert run.states() == {
        uid("a"): "succeeded",
        uid("box"): "failed",
        path("box", "first"): "failed",
    }
    assert run.state() is RunState.FAILED


def test_a_container_may_have_tries_and_time_of_its_own() -> None:
    graph = boxed(inside={"retry": {"maxRetries": 1}, "timeoutSeconds": 2.5})
    assert graph.nodes[uid("box")].timeout_ms == 2500
    run = Played(graph)
    run.succeed(run.one(uid("a")).id)
    first = run.one(path("box", "first"))
    run.fail(first.id)
    assert run.task(first.id).state == "queued"
    run.fail(first.id)
    assert run.state() is RunState.FAILED


def test_a_first_node_reads_the_containers_parameter_under_the_key_of_its_port() -> None:
    ui = {"inputPorts": [port("in", "parameters.p")]}
    box = container("box", "g", ui=ui, parameters={"p": "own"})
    inner = subgraph("g", [node("first"), node("last")], [edge("first", "last")])
    run = Played(compile_workflow(workflow([box], subgraphs=[inner])))
    assert given(run.one(path("box", "first"))) == {"x": "own"}
    wired = workflow([node("a"), box], [edge("a", "box")], subgraphs=[inner])
    run = Played(compile_workflow(wired))
    run.succeed(run.one(uid("a")).id, {"y": "carried"})
    assert given(run.one(path("box", "first"))) == {"x": "carried"}


def nested(prefix: str) -> Graph:
    ui = {
        "inputPorts": [port("in", "parameters.x", prefix=prefix)],
        "outputPorts": [port("out", "results.y", prefix=prefix)],
    }
    graphs = [
        subgraph("outer", [container("inner", "deep"), node("side")]),
        subgraph("deep", [node("leaf"), node("after")], [edge("leaf", "after")]),
    ]
    nodes = [node("a"), container("box", "outer", ui=ui), node("b")]
    return compile_workflow(workflow(nodes, [edge("a", "box"), edge("box", "b")], subgraphs=graphs))


def test_values_pass_through_containers_level_by_level() -> None:
    for prefix in (f"#{uid('leaf')}", f"@outer.deep.#{uid('leaf')}", f"@inner.#{uid('leaf')}"):
        run = Played(nested(prefix))
        run.succeed(run.one(uid("a")).id, {"y": 7})
        leaf = run.one(path("box", "inner", "leaf"))
        assert given(leaf) == {"x": 7}
        run.succeed(leaf.id, {"y": 8})
        run.succeed(run.one(path("box", "inner", "after")).id)
        run.succeed(run.one(path("box", "side")).id)
        assert given(run.one(uid("b"))) == {"x": 8}


def test_the_scope_of_a_binding_may_be_spelt_out() -> None:
    scope = {"kind": "subgraph", "subgraphAliases": ["graph g"], "nodeId": uid("last")}
    ui = {"outputPorts": [port("out", "results.y", scope=scope)]}
    inner = subgraph("g", [node("last")])
    made = workflow(
        [container("box", "g", ui=ui), node("b")], [edge("box", "b")], subgraphs=[inner]
    )
    run = Played(compile_workflow(made))
    run.succeed(run.one(path("box", "last")).id, {"y": 1})
    assert given(run.one(uid("b"))) == {"x": 1}


def test_one_subgraph_may_be_inside_several_containers() -> None:
    ui = {
        "inputPorts": [inward("in", "parameters.x", "n")],
        "outputPorts": [port("out", "results.y")],
    }
    boxes = [container("one", "g", ui=ui), container("two", "g", ui=ui)]
    made = workflow(
        [node("a"), *boxes],
        [edge("a", "one"), edge("one", "two")],
        subgraphs=[subgraph("g", [node("n")])],
    )
    run = Played(compile_workflow(made))
    run.succeed(run.one(uid("a")).id, {"y": 1})
    run.succeed(run.one(path("one", "n")).id, {"y": 2})
    assert given(run.one(path("two", "n"))) == {"x": 2}


def test_a_container_whose_condition_does_not_hold_is_skipped_whole() -> None:
    box = container("box", "g", conditions={"when": "parameters.on"}, parameters={"on": False})
    made = workflow(
        [box, node("b")], [edge("box", "b", ">")], subgraphs=[subgraph("g", [node("n")])]
    )
    run = Played(compile_workflow(made))
    assert run.states() == {uid("box"): "skipped", uid("b"): "skipped"}


# Loops


def looped(loop: dict[str, Any], **more: Any) -> Graph:
    ui = {
        "inputPorts": [inward("in", "parameters.x", "n")],
        "outputPorts": [port("out", "results.y")],
    }
    box = container("box", "g", ui=ui, inside={"loop": {"enabled": True, **loop}}, **more)
    inner = subgraph("g", [node("n")])
    nodes = [node("a"), box, node("b")]
    made = workflow(nodes, [edge("a", "box"), edge("box", "b")], subgraphs=[inner])
    return compile_workflow(made)


def turns(run: Played, *results: Any) -> list[Any]:
    """Answer each iteration in turn; returns what each was given."""
    run.succeed(run.one(uid("a")).id, {"y": 0})
    seen: list[Any] = []
    for result in results:
        [task] = run.queued()
        assert task.node == path("box", "body", "n")
        seen.append(given(task))
        run.succeed(task.id, result)
    return seen


def test_a_loop_goes_round_as_often_as_it_says() -> None:
    run = Played(looped({"maxIterations": 3}))
    assert turns(run, {"y": 1}, {"y": 2}, {"y": 3}) == [{"x": 0}] * 3
    assert given(run.one(uid("b"))) == {"x": 3}
    assert output(run.one(uid("box")))["results"][f"#{uid('n')}"]["y"] == 3
    assert len(run.tasks(path("box", "body"))) == 3


def test_a_loop_goes_on_while_its_condition_holds() -> None:
    for condition in (
        "results.more",
        {"path": "results.more", "prefix": f"#{uid('n')}"},
    ):
        run = Played(looped({"condition": condition}))
        turns(run, {"more": True}, {"more": True}, {"more": False, "y": 9})
        assert given(run.one(uid("b"))) == {"x": 9}


def test_a_loop_ends_at_its_limit_though_its_condition_holds() -> None:
    run = Played(looped({"maxIterations": 2, "condition": "results.more"}))
    turns(run, {"more": True}, {"more": True})
    assert run.states()[uid("b")] == "queued"


def test_a_condition_may_read_the_containers_parameters() -> None:
    condition = {"path": "parameters.again"}
    run = Played(looped({"maxIterations": 5, "condition": condition}, parameters={"again": False}))
    turns(run, {"y": 1})
    assert run.states()[uid("b")] == "queued"


def test_an_iteration_may_be_handed_what_the_one_before_left() -> None:
    back = {
        "source": {"node": uid("n"), "port": "out"},
        "target": {"node": uid("n"), "port": "also"},
    }
    run = Played(looped({"maxIterations": 3, "carry": [back]}))
    assert turns(run, {"y": 1}, {"y": 2}, {"y": 3}) == [
        {"x": 0},
        {"x": 0, "z": 1},
        {"x": 0, "z": 2},
    ]


def test_a_failed_iteration_fails_the_container() -> None:
    run = Played(looped({"maxIterations": 3}))
    turns(run, {"y": 1})
    run.fail(run.queued()[0].id)
    assert run.states()[uid("box")] == "failed"
    assert run.state() is RunState.FAILED


def test_a_loop_that_does_nothing_ends_the_run_instead_of_spinning() -> None:
    inner = subgraph("g", [node("n", conditions={"when": "parameters.never"})])
    box = container("box", "g", inside={"loop": {"enabled": True, "condition": "parameters.on"}})
    box["parameters"]["on"] = True
    run = Played(compile_workflow(workflow([box], subgraphs=[inner])))
    assert run.state() is RunState.FAILED
    assert "passed" in (run.row().error or "")


def test_the_outline_names_containers_and_iterations() -> None:
    inner = subgraph("g", [node("n")])
    box = container("box", "g", inside={"loop": {"enabled": True, "maxIterations": 2}})
    places = outline(workflow([box], subgraphs=[inner]))
    assert {key: (place.node, place.role) for key, place in places.items()} == {
        uid("box"): (uid("box"), "container"),
        path("box", "body"): (uid("box"), "body"),
        path("box", "again"): (uid("box"), "again"),
        path("box", "body", "n"): (uid("n"), "node"),
    }
    assert places[path("box", "body", "n")].trail == (uid("box"),)
