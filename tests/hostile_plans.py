"""Good plans as nodes of flows and of workflows, to be spoilt."""

from typing import Any

from tests.workflows import node, workflow

Json = dict[str, Any]

PLANNER = "hostile.planner"
_TASK: Json = {"goal": "do it", "worker_profile": "builtin.echo"}
_ENDS: Json = {"builtin_workerd": {"structured_output": {"y": 7}}}
PLAN: Json = {
    "tasks": [
        {
            "alias": "a",
            **_TASK,
            "inputs": {"n": 1},
            "kind": "step",
            "blackboard_scope": "bb",
            "on_failure": "fail_run",
            "env_preconditions": {"required": False, "kind": "noop", "keep_failed_seconds": 1},
        },
        {
            "alias": "b",
            **_TASK,
            "depends_on": ["a"],
            "inputs": _ENDS,
            "role": "final",
            "verification_policy": {"mode": "builtin_basic"},
        },
    ],
}
"""What a planner comes to."""


def plan_flow(**more: Any) -> Json:
    """A flow with a plan in it, and something that reads what it came to."""
    plan: Json = {
        "kind": "plan",
        "goal": "Find out about ${params.topic}",
        "prep": {"input_map": {"title": "$params.topic"}},
        "post": {"output_key": "found", "action_static": "on"},
        **more,
    }
    last = {"exec_type": "local_func", "func": "log_result", "prep": {"input_key": "$shared.found"}}
    edges = [{"from": "p", "to": "last", "action": "on"}]
    return {"start": "p", "on_failure": "fail", "nodes": {"p": plan, "last": last}, "edges": edges}


PLAN_FLOW = plan_flow(plan=PLAN)
_NODE = node(
    "plan",
    type="workflow.plan",
    parameters={"goal": "reach it", "plan": PLAN},
    verification={"mode": "builtin_basic"},
)
del _NODE["package"]
PLAN_WORKFLOW = workflow([_NODE])
