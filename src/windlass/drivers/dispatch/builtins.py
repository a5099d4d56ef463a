"""What every server can do by itself for plans and verdicts, without any worker."""

import asyncio
from collections.abc import Mapping
from typing import Any

from windlass.drivers.dispatch.local import function
from windlass.drivers.dispatch.runner import Execute
from windlass.model.plans import ECHO, JOIN
from windlass.model.values import is_list, is_object
from windlass.model.verification import BASIC

_SLEEP_MS_MAX = 600_000


def basic_verdict(brief: Any, params: Any) -> dict[str, Any]:
    """Whether a result has what its policy asks for: an output, and artifacts of some kinds."""
    policy, result = brief["policy"], brief["result"]
    if policy.get("require_structured_output") and not result["structured_output"]:
        return _rejected("there is no structured output", "missing_structured_output")
    made = {item.get("kind") for item in _objects(result["artifacts"])}
    wanted = [kind for kind in policy.get("required_artifact_kinds", ()) if kind not in made]
    if wanted:
        return _rejected(f"no artifact of the kind {', '.join(wanted)}", "missing_artifact")
    return {"verdict": "accepted", "summary": "it has what its policy asks for"}


def _objects(values: Any) -> list[dict[str, Any]]:
    return [value for value in values if is_object(value)] if is_list(values) else []


def _rejected(summary: str, failure_class: str) -> dict[str, Any]:
    return {"verdict": "rejected", "summary": summary, "failure_class": failure_class}


async def echo(brief: Any, params: Any) -> dict[str, Any]:
    """Do what the inputs say under `builtin_workerd`: good for trying plans out."""
    inputs = brief["task"]["inputs"]
    told: Any = inputs.get("builtin_workerd") if is_object(inputs) else None
    if not is_object(told):
        return {"status": "completed", "summary": "", "structured_output": inputs}
    pause: Any = told.get("sleep_ms") or 0
    if isinstance(pause, int | float) and pause > 0:
        await asyncio.sleep(min(float(pause), _SLEEP_MS_MAX) / 1000)
    failed = told.get("fail")
    answer: dict[str, Any] = {
        "status": "failed" if failed else "completed",
        "summary": str(told.get("summary") or failed or ""),
        "structured_output": told.get("structured_output"),
        "artifacts": told.get("artifact_intents") or [],
        "request_replan": bool(told.get("request_replan")),
    }
    if failed:
        answer["failure_class"] = str(told.get("failure_class") or "")
    if told.get("child_tasks"):
        answer |= {"child_tasks": told["child_tasks"], "request_replan": True}
    return answer


def join(brief: Any, params: Any) -> dict[str, Any]:
    """Gather what came before, by alias."""
    before = _objects(brief["predecessors"])
    found = {item["alias"]: item.get("structured_output") for item in before}
    return {"status": "completed", "summary": "", "structured_output": found}


BUILTINS: Mapping[str, Execute] = {
    f"local:{BASIC}": function(basic_verdict, inline=True),
    f"local:{ECHO}": function(echo),
    f"local:{JOIN}": function(join, inline=True),
}
"""By their queues."""
