"""Plans as steps of flows written in Python."""

from windlass.authoring import Flow
from windlass.dialects.flow import compile_flow
from windlass.model.graph import Kind, Ref, Root


def test_a_plan_is_a_step_like_any_other() -> None:
    task = {"alias": "look", "goal": "look it up", "worker_profile": "builtin.echo"}
    with Flow("research") as f:
        first = f.step("first", "fetch", output="page")
        plan = f.plan(
            "plan",
            "Read ${shared.page}",
            plan={"tasks": [task]},
            on_failure="replan",
            plan_limits={"replans": 2},
            verification={"mode": "builtin_basic"},
            input={"page": "$shared.page"},
            output="found",
        )
        first >> plan >> f.end()
    node = compile_flow(f.compile()).nodes["plan"]
    assert node.kind is Kind.PLAN
    assert node.goal == ("Read ", Ref(Root.SHARED, ("page",)))
    assert node.verification is not None
    assert node.planner is not None
    assert node.planner["limits"].literal == {"replans": 2}
    assert node.output.key == "found"
