"""`builtin.basic`: a verdict by rules alone, on what a result has and its policy asks for."""

from typing import Any

from windlass.model.values import is_list, is_object


def basic_verdict(policy: dict[str, Any], output: Any, artifacts: Any) -> dict[str, Any]:
    """Whether a result has what its policy asks for: an output, and artifacts of some kinds."""
    if policy.get("require_structured_output") and not output:
        return _rejected("there is no structured output", "missing_structured_output")
    made = {item.get("kind") for item in objects_of(artifacts)}
    wanted = [kind for kind in policy.get("required_artifact_kinds", ()) if kind not in made]
    if wanted:
        return _rejected(f"no artifact of the kind {', '.join(wanted)}", "missing_artifact")
    return {"verdict": "accepted", "summary": "it has what its policy asks for"}


def objects_of(values: Any) -> list[dict[str, Any]]:
    return [value for value in values if is_object(value)] if is_list(values) else []


def _rejected(summary: str, failure_class: str) -> dict[str, Any]:
    return {"verdict": "rejected", "summary": summary, "failure_class": failure_class}
