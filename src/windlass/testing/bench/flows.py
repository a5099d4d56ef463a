"""The flows that are measured: no-op bodies, every step durable before the next begins."""

from typing import Any

SERVICE = "noop"


def chain(steps: int, transport: str) -> dict[str, Any]:
    """A line of calls, each of which keeps its result."""
    nodes = {f"n{i}": {**call(transport), "post": {"output_key": "last"}} for i in range(steps)}
    edges = [{"from": f"n{i}", "action": "default", "to": f"n{i + 1}"} for i in range(steps - 1)]
    return {"start": "n0", "nodes": nodes, "edges": edges}


def fan(transport: str) -> dict[str, Any]:
    """A fan-out over a parameter, joined into one list."""
    node = {
        **call(transport),
        "kind": "foreach",
        "prep": {"input_key": "$params.items"},
        "parallel_mode": "concurrent",
        "post": {"output_key": "out"},
    }
    return {"start": "fan", "nodes": {"fan": node}, "edges": []}


def approval() -> dict[str, Any]:
    """A run that waits for a person and then ends."""
    node = {"kind": "approval", "params": {"approval_key": "$shared.ok"}}
    return {"start": "ask", "nodes": {"ask": node}, "edges": []}


def call(transport: str) -> dict[str, Any]:
    if transport == "local":
        return {"exec_type": "local_func", "func": SERVICE}
    return {"exec_type": "queue", "service": SERVICE}
