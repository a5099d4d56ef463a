"""A good flow, and one good request for every path of PocketFlow's surface."""

from typing import Any

Json = dict[str, Any]

CALL: Json = {"kind": "executor", "exec_type": "local_func", "func": "upper"}
FLOW: Json = {
    "start": "a",
    "nodes": {
        "a": {
            **CALL,
            "params": {"text": "x"},
            "prep": {"input_key": "$params.text"},
            "post": {"output_key": "out", "action_static": "on"},
        },
        "b": {**CALL, "max_retries": 1, "wait_ms": 1},
    },
    "edges": [{"from": "a", "to": "b", "action": "on"}],
}
POCKETFLOW: dict[str, Json] = {
    "/workers/register": {
        "ID": "hostile-pocket",
        "Type": "async",
        "URL": "",
        "Services": ["evil"],
        "Capacity": 1,
        "caps": {"evil": 1},
    },
    "/workers/heartbeat": {"ID": "hostile-pocket", "Load": 1},
    "/flows": {"Name": "hostile-pocket", "Description": "d"},
    "/flows/version": {
        "FlowID": "{flow_id}",
        "Version": 0,
        "DefinitionJSON": FLOW,
        "Status": "published",
    },
    "/tasks": {"FlowID": "{flow_id}", "Version": 0, "ParamsJSON": {"text": "x"}, "request_id": ""},
    "/tasks/run_once": {"id": "task-x"},
    "/tasks/cancel": {"id": "task-x"},
    "/tasks/signal": {"task_id": "task-{waiting}", "key": "go", "value": {"a": 1}},
    "/queue/poll": {
        "worker_id": "hostile-pocket",
        "services": ["nobody-calls-this"],
        "max": 2,
        "wait_ms": 0,
    },
    "/queue/complete": {"queue_id": "q-none", "token": "", "result": {"a": 1}, "log": "l"},
    "/queue/heartbeat": {"queue_ids": ["q-none"], "token": "t", "worker_id": "hostile-pocket"},
    "/queue/update_run": {"run_id": "run-none", "status": "running"},
}
"""What each of PocketFlow's takes."""

POCKETFLOW_QUERY = (
    *("page", "page_size", "status", "flow_version_id", "flow_id", "id", "task_id"),
    *("run_id", "service", "ttl"),
)
