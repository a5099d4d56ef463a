"""Plans as nodes of workflows: edges fill their settings, and their output goes out by ports."""

from typing import Any

import pytest

from tests.plans import task
from tests.workflows import container, edge, node, port, subgraph, uid, workflow
from windlass.dialects.workflow import compile_workflow
from windlass.kernel.events import RetryRequested
from windlass.model.errors import DefinitionError
from windlass.model.rows import Task
from windlass.model.states import RunState, TaskState
from windlass.testing.played import RUN_ID, Played

PLAN = {"tasks": [task("a"), task("b", "a", role="final")]}


def plan_node(name: str = "plan", **parameters: Any) -> dict[str, Any]:
    given = {"goal": "reach it", "workerProfile": "hand", "plan": PLAN, **parameters}
    made = node(name, type="workflow.plan", parameters=given)
    made["ui"] = {
        "inputPorts": [port("goal", "parameters.goal"), port("x", "parameters.input.x")],
        "outputPorts": [port("out", "results.y"), port("all", "results")],
    }
    del made["package"]
    return made


def inside(run: Played, alias: str) -> Task:
    found = [t for t in run.tasks() if t.node.endswith(f"/{alias}")]
    return max(found, key=lambda t: t.made_seq)


def at(run: Played, name: str) -> Task:
    return run.one(uid(name))


def test_edges_fill_a_plan_and_take_its_output_on() -> None:
    nodes = [node("first"), plan_node(), node("last")]
    edges = [edge("first", "plan", "out>x"), edge("plan", "last", "out>in")]
    run = Played(compile_workflow(workflow(nodes, edges)), {})
    run.succeed(at(run, "first").id, {"y": 7})
    brief = run.claim(inside(run, "a").id).input
    assert '"input":{"x":7}' in brief
    run.succeed(inside(run, "a").id, {})
    run.succeed(inside(run, "b").id, {"y": 8})
    assert at(run, "last").input == '{"x":8}'
    run.succeed(at(run, "last").id, {})
    assert run.row().state is RunState.SUCCEEDED


def test_a_goal_may_come_along_an_edge() -> None:
    plan = plan_node()
    del plan["parameters"]["goal"]
    run = Played(
        compile_workflow(workflow([node("first"), plan], [edge("first", "plan", "out>goal")])), {}
    )
    run.succeed(at(run, "first").id, {"y": "sail"})
    assert '"goal":"sail"' in run.claim(inside(run, "a").id).input


def test_plans_side_by_side_keep_their_own_goals() -> None:
    nodes = [plan_node("p", goal="one"), plan_node("q", goal="two")]
    run = Played(compile_workflow(workflow(nodes)), {})
    firsts = [t for t in run.tasks() if t.node.endswith("/a")]
    briefs = sorted(run.claim(t.id).input for t in firsts)
    assert '"goal":"one"' in briefs[0] or '"goal":"one"' in briefs[1]
    assert briefs[0] != briefs[1]
    for alias in ("a", "b"):
        for t in [t for t in run.tasks() if t.node.endswith(f"/{alias}")]:
            run.succeed(t.id, {})
    assert run.row().state is RunState.SUCCEEDED


def test_a_plan_in_a_loop_is_planned_for_every_iteration() -> None:
    loop = {"enabled": True, "maxIterations": 2}
    graph = compile_workflow(
        workflow(
            [container("each", "inner", inside={"loop": loop})],
            [],
            subgraphs=[subgraph("inner", [plan_node()])],
        )
    )
    run = Played(graph, {})
    for _ in range(2):
        for alias in ("a", "b"):
            run.succeed(inside(run, alias).id, {})
    assert run.row().state is RunState.SUCCEEDED
    assert sum(t.node.endswith("/a") for t in run.tasks()) == 2


def test_a_task_of_a_plan_in_a_workflow_is_retried_with_what_came_of_it() -> None:
    nodes = [plan_node(), node("last"), node("beside")]
    run = Played(compile_workflow(workflow(nodes, [edge("plan", "last", "out>in")])), {})
    for alias in ("a", "b"):
        run.succeed(inside(run, alias).id, {"y": alias})
    run.succeed(at(run, "beside").id, {})
    run.succeed(at(run, "last").id, {})
    run.send(RetryRequested(RUN_ID, inside(run, "b").id, descendants=True))
    assert at(run, "beside").state is TaskState.SUCCEEDED
    assert inside(run, "a").state is TaskState.SUCCEEDED
    assert at(run, "last").state is TaskState.SUPERSEDED
    run.succeed(inside(run, "b").id, {"y": "new"})
    assert at(run, "last").input == '{"x":"new"}'


def test_a_node_of_a_package_may_have_its_results_judged() -> None:
    judged = node("first", verification={"verifier_profile": "judge"})
    run = Played(compile_workflow(workflow([judged])), {})
    run.succeed(at(run, "first").id, {"y": 1})
    assert at(run, "first").state is TaskState.VERIFYING
    run.succeed(at(run, "first").id, {"verdict": "accepted"})
    assert run.row().state is RunState.SUCCEEDED


def test_a_plan_in_a_workflow_says_what_is_wrong_with_it() -> None:
    bad = plan_node(plan={"tasks": [{"alias": "a"}]}, onFailure="shrug", mood=1)
    del bad["parameters"]["goal"]
    bad["timeoutMs"] = 5
    bad["middlewares"] = [{**node("m"), "id": "m"}]
    with pytest.raises(DefinitionError) as caught:
        compile_workflow(workflow([bad]))
    told = {problem.path for problem in caught.value.problems}
    assert told >= {
        "nodes[0].parameters.goal",
        "nodes[0].parameters.plan.tasks[0].goal",
        "nodes[0].parameters.onFailure",
        "nodes[0].parameters.mood",
        "nodes[0].timeoutMs",
        "nodes[0].middlewares",
    }
