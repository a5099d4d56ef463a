"""Pods beyond flows: profiles of plans and runtimes of workflows, read strictly and all at once."""

from typing import Any

import pytest

from tests.workflows import container, edge, node, subgraph, uid, workflow
from windlass.dialects.plan import compile_plan
from windlass.dialects.workflow import compile_workflow
from windlass.model.errors import DefinitionError
from windlass.model.graph import Transport

POD = {"image": "registry.example/crunch:1", "sdk": True, "namespace": "team-a"}


def refused(definition: object) -> set[str]:
    """The places that a definition is refused for."""
    whole = isinstance(definition, dict) and "nodes" in definition
    with pytest.raises(DefinitionError) as raised:
        (compile_workflow if whole else compile_plan)(definition)
    return {problem.path for problem in raised.value.problems}


def test_all_that_is_wrong_with_a_plans_profiles_is_said_at_once() -> None:
    profiles: dict[str, Any] = {
        "crunch": {"kind": "pod", "pod": {"image": "Not An Image", "colour": "red"}},
        "bare": {"kind": "pod"},
        "other": {"kind": "robot", "pod": POD},
        "kindless": {"pod": POD},
        "builtin.echo": {"kind": "pod", "pod": POD},
    }
    assert refused({"goal": "g", "profiles": profiles}) == {
        "profiles.crunch.pod.image",
        "profiles.crunch.pod.colour",
        "profiles.bare.pod",
        "profiles.other.kind",
        "profiles.kindless.kind",
        'profiles["builtin.echo"]',
    }


def test_a_planner_is_no_pod() -> None:
    profiles = {"crunch": {"kind": "pod", "pod": POD}}
    given = {"goal": "g", "profiles": profiles, "planner_profile": "crunch"}
    assert refused(given) == {"planner_profile"}


def test_a_workflows_node_whose_runtime_is_a_pod_is_one() -> None:
    bare = node("b", runtime="crunch")
    del bare["package"]
    runtimes = {"crunch": {"pod": POD}, "py": {"workerHints": {"package": "kit"}}}
    given = workflow([node("a", runtime="py"), bare], [edge("a", "b")], runtimes=runtimes)
    graph = compile_workflow(given)
    first, second = graph.nodes[uid("a")].target, graph.nodes[uid("b")].target
    assert first is not None
    assert first.transport is Transport.LINK
    assert second is not None
    assert second.transport is Transport.POD
    assert second.queue == "pod:team-a"
    assert second.pod is not None
    assert second.pod.image == POD["image"]


def test_all_that_is_wrong_with_a_workflows_runtimes_is_said_at_once() -> None:
    guard = node("m", runtime="crunch") | {"role": "middleware"}
    inside = subgraph("g", [node("i")])
    inside["definition"]["runtimes"] = {"crunch": {"pod": {"image": "another:1"}}}
    given = workflow(
        [
            node("a", runtime="nowhere"),
            node("b", middlewares=[guard]),
            container("c", "g", runtime="crunch"),
        ],
        subgraphs=[inside],
        runtimes={"crunch": {"pod": POD}, "bad": {"pod": {"env": {"1X": "a"}}}},
    )
    assert refused(given) == {
        "runtimes.bad.pod.image",
        "runtimes.bad.pod.env.1X",
        "nodes[0].runtime",
        "nodes[1].middlewares[0].runtime",
        "nodes[2].runtime",
        "subgraphs[0].definition.runtimes.crunch",
    }
