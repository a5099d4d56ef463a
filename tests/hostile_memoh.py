"""One good request for every path of the `/orchestration` surface."""

from typing import Any

Json = dict[str, Any]

_AT = "POST /orchestration"
_RUN = f"{_AT}/runs/{{run_id}}"
_TASK = _RUN + "/tasks/{task_id}"
_OPTION = {"id": "y", "kind": "choice", "label": "Yes", "description": "d"}
MEMOH: dict[str, Json] = {
    f"{_AT}/runs": {
        "goal": "hostile",
        "idempotency_key": "hostile-memoh",
        "bot_id": "b",
        "input": {"builtin_workerd": {"summary": "s"}},
        "output_schema": {"type": "object"},
        "requested_control_policy": {"runtime_limits": {"replans": 2}},
        "source_metadata": {"chat_id": "c"},
        "policies": {"on_failure": "fail_run"},
        "plan": {"tasks": [{"alias": "a", "goal": "g", "worker_profile": "builtin.echo"}]},
        "worker_profile": "builtin.echo",
        "planner_profile": "p",
    },
    f"{_RUN}/cancel": {"idempotency_key": "k1", "reason": "r"},
    f"{_RUN}/hints": {
        "idempotency_key": "k2",
        "hint": {
            "kind": "constraint_update",
            "summary": "s",
            "details": {"a": [1]},
            "target_task_id": "{task_id}",
        },
    },
    f"{_RUN}/blackboard/rebuild": {"idempotency_key": "k3"},
    f"{_TASK}/cancel": {"idempotency_key": "k4", "reason": "r"},
    f"{_TASK}/retry": {"idempotency_key": "k5", "reason": "r"},
    f"{_TASK}/approvals": {
        "idempotency_key": "k8",
        "effect_class": "external_irreversible",
        "reason": "it is right",
        "expires_in_s": 60,
    },
    f"{_TASK}/checkpoints": {
        "idempotency_key": "k6",
        "question": "Sure?",
        "options": [_OPTION],
        "default_action": {"mode": "select_option", "option_id": "y"},
        "resume_policy": {"resume_mode": "new_attempt"},
        "timeout_at": "2126-01-31T12:00:00Z",
        "blocks_run": True,
        "severity": "low",
        "reason_code": "r",
        "metadata": {"a": 1},
    },
    f"{_AT}/checkpoints/{{checkpoint_id}}/resolve": {
        "idempotency_key": "k7",
        "mode": "select_option",
        "option_id": "y",
        "freeform_input": "f",
        "metadata": {"note": "n"},
    },
    f"{_AT}/env-resources": {"name": "n", "kind": "container"},
    f"{_AT}/container-images": {"name": "n", "source_type": "registry"},
}
MEMOH_QUERY = (
    *("limit", "cursor", "after", "as_of_seq", "status", "lifecycle_status", "bot_id"),
    *("after_seq", "until_seq", "task_id", "kind"),
)
NO_RUNTIME = {f"{_AT}/env-resources", f"{_AT}/container-images"}
"""They answer 503 while nothing can make what they are asked for."""
