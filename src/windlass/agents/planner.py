"""The part of a planner: a brief in, a plan out that the kernel will take."""

from typing import Any

import msgspec
from pydantic_ai import ModelRetry

from windlass.agents import prompts
from windlass.agents.attempt import AgentAttempt
from windlass.agents.parts import FinalTool, Part, text
from windlass.model.plans import OnFailure, Plan, PlanLimits, read_plan

_TASK: dict[str, Any] = {
    "type": "object",
    "properties": {
        "alias": text("its name in the plan: letters of a to z, digits, - and _"),
        "goal": text("what it is to reach"),
        "depends_on": {"type": "array", "items": {"type": "string"}},
        "role": text("final: its result is that of the whole", "start", "mid", "final"),
        "inputs": {"type": "object", "description": "values for whoever does it"},
        "worker_profile": text("who does it; leave out for an agent like you"),
        "kind": text("join gathers what came before, by alias", "step", "join"),
        "retry_policy": {
            "type": "object",
            "properties": {
                "max_attempts": {"type": "integer"},
                "backoff_seconds": {"type": "number"},
            },
        },
        "verification_policy": {
            "type": "object",
            "properties": {
                "mode": text("who judges", "llm", "builtin_basic"),
                "instructions": text("what to look at"),
                "on_reject": text("what then", "retry", "replan", "fail", "ask"),
            },
        },
        "timeout_seconds": {"type": "number"},
        "on_failure": text("what its failure means", *OnFailure),
    },
    "required": ["alias", "goal"],
}


def check_plan(attempt: AgentAttempt, given: dict[str, Any]) -> dict[str, Any]:
    """The plan as it was given, if the kernel would take it."""
    read = read_plan(given, _limits(attempt.brief))
    if isinstance(read, Plan):
        return given
    problems = "\n".join(f"- {problem}" for problem in read)
    raise ModelRetry(f"the plan has {len(read)} problem(s); mend all of them:\n{problems}")


def _limits(brief: dict[str, Any]) -> PlanLimits:
    try:
        return msgspec.convert(brief.get("limits") or {}, PlanLimits)
    except msgspec.ValidationError:
        return PlanLimits()  # the server, which may know newer ones, has the last word


PLANNER = Part(
    prompts.PLANNER,
    (
        FinalTool(
            name="finish",
            description="Hand the plan in.",
            properties={
                "summary": text("the plan in a sentence"),
                "tasks": {"type": "array", "items": _TASK},
            },
            required=("tasks",),
            check=check_plan,
        ),
    ),
)
