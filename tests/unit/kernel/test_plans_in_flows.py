"""Plans as nodes of flows: the flow follows one edge at a time, the inside of a plan joins."""

from typing import Any

import pytest

from tests.plans import task
from windlass.dialects.flow import compile_flow
from windlass.kernel.events import (
    CancelRequested,
    HintGiven,
    PatchGraph,
    RetryRequested,
)
from windlass.model.errors import Conflict, DefinitionError
from windlass.model.graph import Graph, Kind, Node, Target, Transport
from windlass.model.hints import Hint, HintKind
from windlass.model.patches import Patch
from windlass.model.rows import Task
from windlass.model.states import RunState, TaskState
from windlass.testing.played import RUN_ID, Played

ABC = (task("a"), task("b"), task("c", "a", "b", role="final"))


def flow(*tasks: dict[str, Any], **more: Any) -> Graph:
    node: dict[str, Any] = {
        "kind": "plan",
        "goal": "Write about $params.topic for ${shared.who.name}",
        "worker_profile": "hand",
        "prep": {"input_map": {"who": "$shared.who"}},
        "post": {"output_key": "report", "action_key": "next"},
        **more,
    }
    if tasks:
        node["plan"] = {"tasks": list(tasks)}
    return compile_flow(
        {
            "start": "first",
            "nodes": {
                "first": {
                    "kind": "executor",
                    "service": "s",
                    "exec_type": "queue",
                    "post": {"output_key": "who"},
                },
                "write": node,
                "last": {
                    "kind": "executor",
                    "service": "s",
                    "exec_type": "queue",
                    "prep": {"input_key": "$shared.report"},
                },
                "sorry": {"kind": "executor", "service": "s", "exec_type": "queue"},
            },
            "edges": [
                {"from": "first", "to": "write"},
                {"from": "write", "to": "last"},
                {"from": "write", "action": "again", "to": "write"},
                {"from": "write", "action": "error", "to": "sorry"},
            ],
        }
    )


def begun(*tasks: dict[str, Any], **more: Any) -> Played:
    run = Played(flow(*tasks, **more), {"topic": "ships"})
    run.succeed(run.one("first").id, {"name": "Ann"})
    return run


def inside(run: Played, alias: str, visit: int = -1) -> Task:
    plans = sorted((t for t in run.tasks() if t.node == "write"), key=lambda t: t.step)
    return next(t for t in run.tasks() if t.scope == plans[visit].id and t.node.endswith(alias))


def do(run: Played, alias: str, output: Any = None) -> None:
    run.succeed(inside(run, f"/{alias}").id, {"of": alias} if output is None else output)


def states(run: Played) -> dict[str, str]:
    return {t.node: str(t.state) for t in run.tasks() if t.state is not TaskState.SUPERSEDED}


def test_a_plan_in_a_flow_joins_inside_and_hands_its_output_on() -> None:
    run = begun(*ABC)
    do(run, "b")
    assert "write/c" not in states(run) or states(run)["write/c"] == "pending"
    do(run, "a")
    assert states(run)["write/c"] == "queued"
    do(run, "c", {"text": "done"})
    assert states(run)["write"] == "succeeded"
    last = run.one("last")
    assert last.input == '{"text":"done"}'
    run.succeed(last.id, 1)
    assert run.row().state is RunState.SUCCEEDED


def test_the_goal_is_made_of_what_the_run_knows() -> None:
    run = begun(*ABC)
    brief = run.claim(inside(run, "/a").id).input
    assert '"goal":"Write about ships for Ann"' in brief
    assert '"input":{"who":{"name":"Ann"}}' in brief


def test_a_planner_is_asked_where_no_plan_is_given_and_the_flow_waits() -> None:
    run = begun(worker_profile="", planner_profile="thinker")
    plan = run.one("write")
    assert (plan.state, plan.queue) == (TaskState.QUEUED, "pull:thinker")
    run.succeed(plan.id, {"tasks": [task("a", worker_profile="hand", role="final")]})
    assert states(run)["write/a"] == "queued"
    do(run, "a", {"text": "x"})
    assert run.one("last").input == '{"text":"x"}'


def test_a_failed_task_fails_its_plan_and_the_flow_goes_where_its_edge_says() -> None:
    run = begun(*ABC)
    run.fail(inside(run, "/a").id)
    assert states(run)["write"] == "failed"
    assert states(run)["write/b"] == "cancelled"
    assert states(run)["sorry"] == "queued"


def test_a_plan_that_is_visited_again_is_planned_again_from_nothing() -> None:
    run = begun(*ABC)
    do(run, "a")
    do(run, "b")
    do(run, "c", {"next": "again"})
    first, second = sorted((t for t in run.tasks() if t.node == "write"), key=lambda t: t.step)
    assert first.state is TaskState.SUCCEEDED
    assert second.state is TaskState.RUNNING
    assert inside(run, "/a").state is TaskState.QUEUED
    assert inside(run, "/a").id != inside(run, "/a", 0).id
    for alias in "abc":
        do(run, alias)
    assert states(run)["last"] == "queued"


def test_each_visit_has_its_own_count_of_plans() -> None:
    run = begun(task("a"), plan_limits={"replans": 1})
    for _ in range(3):
        plan = {"tasks": [task("a", role="final", inputs={"n": run.row().seq})]}
        hint = Hint(HintKind.REPLAN_REQUEST, "", {"replacement_plan": plan})
        run.send(HintGiven(RUN_ID, hint, "ann"))
        with pytest.raises(Conflict, match="planned 2 times"):
            run.send(HintGiven(RUN_ID, hint, "ann"))
        do(run, "a", {"next": "again"})


def test_only_what_changed_is_done_again_when_a_plan_in_a_flow_is_replanned() -> None:
    run = begun(*ABC)
    do(run, "a")
    do(run, "b")
    changed = [task("a"), task("b", inputs={"more": 1}), task("c", "a", "b", role="final")]
    hint = Hint(HintKind.REPLAN_REQUEST, "", {"replacement_plan": {"tasks": changed}})
    run.send(HintGiven(RUN_ID, hint, "ann"))
    assert inside(run, "/a").state is TaskState.SUCCEEDED
    assert inside(run, "/b").state is TaskState.QUEUED
    assert inside(run, "/c").state is TaskState.SUPERSEDED
    do(run, "b")
    assert inside(run, "/c").state is TaskState.QUEUED


def test_a_failed_run_is_retried_inside_its_plan() -> None:
    graph = flow(*ABC)
    edges = {**graph.edges, "write": graph.edges["write"][:1]}
    run = Played(
        Graph(graph.starts, graph.nodes, edges, fails_run=True, grows=True), {"topic": "ships"}
    )
    run.succeed(run.one("first").id, {"name": "Ann"})
    do(run, "b")
    run.fail(inside(run, "/a").id)
    assert run.row().state is RunState.FAILED
    run.send(RetryRequested(RUN_ID, None))
    assert states(run) == {
        "first": "succeeded",
        "write": "running",
        "write/a": "queued",
        "write/b": "succeeded",
        "write/c": "pending",
    }
    do(run, "a")
    do(run, "c")
    assert states(run)["last"] == "queued"


def test_retrying_from_a_task_in_a_plan_redoes_what_came_of_it_and_no_more() -> None:
    run = begun(*ABC)
    for alias in "abc":
        do(run, alias)
    run.succeed(run.one("last").id, 1)
    run.send(RetryRequested(RUN_ID, inside(run, "/b").id, descendants=True))
    assert inside(run, "/a").state is TaskState.SUCCEEDED
    assert inside(run, "/b").state is TaskState.QUEUED
    assert "last" not in states(run)
    do(run, "b")
    do(run, "c", "again")
    assert run.one("last").input == '"again"'


def test_retrying_from_the_node_before_a_plan_plans_anew() -> None:
    run = begun(*ABC)
    for alias in "abc":
        do(run, alias)
    run.send(RetryRequested(RUN_ID, "first", descendants=True))
    assert set(states(run)) == {"first"}
    run.succeed(run.one("first").id, {"name": "Bob"})
    assert '"goal":"Write about ships for Bob"' in run.claim(inside(run, "/a").id).input


def test_what_an_earlier_visit_planned_cannot_be_gone_on_with() -> None:
    run = begun(*ABC)
    for alias in "ab":
        do(run, alias)
    do(run, "c", {"next": "again"})
    with pytest.raises(Conflict, match="visited and planned again"):
        run.send(RetryRequested(RUN_ID, inside(run, "/b", 0).id, descendants=True))


def test_an_earlier_visit_that_is_begun_again_is_the_newest() -> None:
    plan = {"kind": "plan", "goal": "g", "worker_profile": "hand", "plan": {"tasks": [task("a")]}}
    gate = {"kind": "executor", "service": "s", "exec_type": "queue", "post": {"action_key": "to"}}
    again = {"from": "gate", "action": "again", "to": "sub"}
    nodes = {
        "sub": {"kind": "subflow", "subflow": {"start": "p", "nodes": {"p": plan}, "edges": []}},
        "gate": gate,
    }
    edges = [{"from": "sub", "to": "gate"}, again]
    run = Played(compile_flow({"start": "sub", "nodes": nodes, "edges": edges}), {})

    def visits(node: str) -> list[Task]:
        return sorted((t for t in run.tasks() if t.node == node), key=lambda t: t.made_seq)

    run.succeed(visits("sub/p/a")[0].id, 1)
    run.succeed(visits("gate")[0].id, {"to": "again"})
    run.succeed(visits("sub/p/a")[1].id, 2)
    run.send(RetryRequested(RUN_ID, visits("sub")[0].id, descendants=True))
    first, second = visits("sub/p")
    assert (first.state, second.state) == (TaskState.RUNNING, TaskState.SUPERSEDED)
    run.succeed(visits("sub/p/a")[0].id, 3)
    run.send(RetryRequested(RUN_ID, visits("sub/p/a")[0].id, descendants=True))
    assert visits("sub/p/a")[0].state is TaskState.QUEUED
    run.succeed(visits("sub/p/a")[0].id, 4)
    run.succeed(next(t.id for t in visits("gate") if t.state is TaskState.QUEUED), {"to": "done"})
    assert run.row().state is RunState.SUCCEEDED


def test_cancelling_a_run_ends_the_plan_it_is_in() -> None:
    run = begun(*ABC)
    run.send(CancelRequested(RUN_ID))
    assert run.row().state is RunState.CANCELLED
    assert states(run)["write"] == "cancelled"


def test_results_of_a_plan_s_tasks_are_judged_as_its_node_says() -> None:
    run = begun(*ABC, verification={"verifier_profile": "judge"})
    do(run, "a")
    assert states(run)["write/a"] == "verifying"


def test_a_plan_may_stand_in_a_subflow() -> None:
    inner = {
        "start": "p",
        "nodes": {
            "p": {
                "kind": "plan",
                "goal": "g",
                "worker_profile": "hand",
                "plan": {"tasks": [task("a")]},
                "post": {"output_key": "out"},
            }
        },
        "edges": [],
    }
    graph = compile_flow({"start": "sub", "nodes": {"sub": {"kind": "subflow", "subflow": inner}}})
    run = Played(graph, {})
    run.succeed(run.one("sub/p/a").id, {"x": 1})
    assert run.row().state is RunState.SUCCEEDED
    assert run.one("sub").output == '{"out":{"a":{"x":1}}}'


def test_nobody_adds_nodes_to_a_flow_beside_its_plans() -> None:
    run = begun(*ABC)
    node = Node("more", Kind.CALL, target=Target(Transport.PULL, "s"))
    with pytest.raises(DefinitionError, match="one edge at a time"):
        run.send(PatchGraph(RUN_ID, Patch(nodes=(node,)), run.row().graph_rev))


def test_a_plan_node_says_all_that_is_wrong_with_it() -> None:
    with pytest.raises(DefinitionError) as caught:
        compile_flow(
            {
                "start": "p",
                "nodes": {
                    "p": {
                        "kind": "plan",
                        "plan": {"tasks": [{"alias": "a"}]},
                        "plan_limits": {"replan": 1, "depth": 0},
                        "timeout_ms": 5,
                        "on_failure": "shrug",
                    }
                },
            }
        )
    told = {problem.path for problem in caught.value.problems}
    assert told >= {
        "nodes.p.goal",
        "nodes.p.plan.tasks[0].goal",
        "nodes.p.plan_limits.replan",
        "nodes.p.plan_limits.depth",
        "nodes.p.timeout_ms",
        "nodes.p.on_failure",
    }


def test_a_branch_that_the_flow_went_on_without_is_not_retried_alone() -> None:
    """Its fan-out has ended and handed its results on: opened again for one branch, it would lead
    the run to what came after it a second time."""
    fan = {
        "kind": "foreach",
        "service": "s",
        "exec_type": "queue",
        "failure_strategy": "continue",
        "prep": {"input_key": "$params.items"},
    }
    plan = {"kind": "plan", "goal": "go", "worker_profile": "hand", "plan": {"tasks": [task("a")]}}
    last = {"kind": "executor", "service": "s", "exec_type": "queue"}
    graph = compile_flow(
        {
            "start": "write",
            "nodes": {"write": plan, "fan": fan, "last": last},
            "edges": [{"from": "write", "to": "fan"}, {"from": "fan", "to": "last"}],
        }
    )
    run = Played(graph, {"items": [1]})
    run.succeed(run.one("write/a").id, 1)
    [branch] = run.queued()
    run.fail(branch.id)
    run.fail(run.one("last").id)
    assert run.state() is RunState.FAILED
    with pytest.raises(Conflict, match="the run went on after"):
        run.send(RetryRequested(RUN_ID, branch.id))
    assert [row.node for row in run.tasks() if row.node == "last"] == ["last"]
