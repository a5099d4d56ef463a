"""Good bodies of what workers say, to be spoilt."""

from typing import Any

Json = dict[str, Any]
ATTEMPT: Json = {"attemptId": "none~1", "token": "t"}

WORK: dict[str, Json] = {
    "POST /api/v1/pods/report": {"attemptId": "none~1@1", "output": {"n": 1}, "usage": {"usd": 1}},
    "POST /api/v1/facts": {
        "events": [
            {
                "type": "task_status",
                "timestamp": 1794850086,
                "data": {
                    "task_id": "none~a.0",
                    "workflow_id": "none",
                    "status": "FAILED",
                    "event_id": "e1",
                    "pod_uid": "u1",
                    "pod_name": "p1",
                    "namespace": "default",
                    "node": "n1",
                    "reason": "Error",
                    "observed_at": 1794850086.5,
                    "message": "no rows",
                    "exit_code": 3,
                    "tenant_id": "default",
                    "attempt": 1,
                    "terminated_reason": "DeletedByUser",
                },
            }
        ]
    },
    "POST /api/v1/workers/{id}/actions": {
        **ATTEMPT,
        "callId": "c1",
        "tool": "post",
        "effect": "external_write",
        "input": {"a": [1]},
        "summary": "s",
        "approvalToken": "wla_x_y",
    },
    "POST /api/v1/workers/{id}/blackboard": {
        **ATTEMPT,
        "key": "bb.task.none.progress.a",
        "payload": {"a": [1]},
        "expected": 0,
        "delete": False,
    },
    "POST /api/v1/workers/{id}/blackboard/read": {
        **ATTEMPT,
        "key": "bb.task.none.progress.a",
        "revision": 1,
        "prefix": "bb.",
    },
    "POST /api/v1/workers/{id}/env/exec": {
        **ATTEMPT,
        "callId": "c1",
        "command": ["true"],
        "stdin": "aGk=",
        "workdir": "/",
        "env": {"A": "b"},
        "timeoutS": 5,
    },
    "POST /api/v1/workers/{id}/env/read": {**ATTEMPT, "callId": "c1", "path": "a.txt"},
    "POST /api/v1/workers/{id}/env/write": {
        **ATTEMPT,
        "callId": "c1",
        "path": "a.txt",
        "data": "aGk=",
    },
    "POST /api/v1/workers/{id}/env/snapshot": {**ATTEMPT, "callId": "c1"},
    "POST /api/v1/workers/{id}/env/door": {**ATTEMPT, "callId": "c1"},
    "POST /api/v1/workers/{id}/actions/end": {
        **ATTEMPT,
        "callId": "c1",
        "state": "completed",
        "output": {"a": [1]},
        "error": "e",
        "summary": "s",
    },
    "POST /api/v1/workers/{id}/exchange": {
        "services": ["nobody-calls-this"],
        "slots": 1,
        "caps": {"nobody-calls-this": 1},
        "number": 1,
        "joins": 0,
        "ends": 0,
        "waitMs": 0,
        "results": [
            {**ATTEMPT, "output": {"a": 1}, "log": "l"},
            {**ATTEMPT, "error": {"kind": "failed", "message": "m", "retryAfterMs": 1}},
        ],
        "renew": ["none~1"],
        "said": [{**ATTEMPT, "offset": 0, "text": "said"}],
        "load": 0,
    },
}
for _said in ("actions", "actions/end", "blackboard", "blackboard/read"):
    # Programs in pods say the same, at doors of their own.
    WORK[f"POST /api/v1/pods/{_said}"] = WORK[f"POST /api/v1/workers/{{id}}/{_said}"]
