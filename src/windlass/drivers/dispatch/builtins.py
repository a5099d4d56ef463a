"""What every server can do by itself for plans and verdicts, without any worker."""

from collections.abc import Mapping
from typing import Any

from windlass.drivers.dispatch.local import function
from windlass.drivers.dispatch.runner import Execute
from windlass.model.values import is_list, is_object
from windlass.model.verification import BASIC


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


BUILTINS: Mapping[str, Execute] = {
    f"local:{BASIC}": function(basic_verdict, inline=True),
}
"""By their queues."""
