"""What every server can do by itself for plans and verdicts, without any worker."""

import asyncio
from collections.abc import Mapping
from typing import Any

from windlass.drivers.dispatch.local import function
from windlass.drivers.dispatch.runner import Execute
from windlass.model.basic_verdict import basic_verdict, objects_of
from windlass.model.plans import ECHO, JOIN
from windlass.model.values import is_object
from windlass.model.verification import BASIC

_SLEEP_MS_MAX = 600_000


def basic(brief: Any, params: Any) -> dict[str, Any]:
    """The verdict by rules, where it was not given with the claim."""
    result = brief["result"]
    return basic_verdict(brief["policy"], result["structured_output"], result["artifacts"])


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
    before = objects_of(brief["predecessors"])
    found = {item["alias"]: item.get("structured_output") for item in before}
    return {"status": "completed", "summary": "", "structured_output": found}


BUILTINS: Mapping[str, Execute] = {
    f"local:{BASIC}": function(basic, inline=True),
    f"local:{ECHO}": function(echo),
    f"local:{JOIN}": function(join, inline=True),
}
"""By their queues."""
