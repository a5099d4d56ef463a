"""Flows the browser tests run."""

from typing import Any


def review() -> dict[str, Any]:
    """A fan-out, a sum, a person's decision, and two ways on from it."""
    return {
        "start": "fetch",
        "nodes": {
            "fetch": {
                "kind": "foreach",
                "exec_type": "local_func",
                "func": "mul",
                "params": {"mul": 2},
                "prep": {"input_key": "$params.pages"},
                "post": {"output_key": "pages"},
                "parallel_mode": "concurrent",
            },
            "publish_ok": {
                "kind": "approval",
                "params": {"approval_key": "$shared.ok", "prompt": "Publish the pages?"},
                "prep": {"input_key": "$shared.pages"},
                "post": {"action_key": "ok"},
            },
            "publish": {"kind": "timer", "params": {"delay_ms": 10}},
            "discard": {"kind": "timer", "params": {"delay_ms": 10}},
        },
        "edges": [
            {"from": "fetch", "to": "publish_ok"},
            {"from": "publish_ok", "action": "approved", "to": "publish"},
            {"from": "publish_ok", "action": "rejected", "to": "discard"},
        ],
    }


def wait_for(key: str) -> dict[str, Any]:
    """One step that waits for a signal."""
    node = {"kind": "wait_event", "params": {"signal_key": f"$shared.{key}"}}
    return {"start": "hold", "nodes": {"hold": node}, "edges": []}


def failing() -> dict[str, Any]:
    """A step that works and one that refuses its input."""
    return {
        "start": "first",
        "nodes": {
            "first": {
                "exec_type": "local_func",
                "func": "mul",
                "prep": {"input_key": "$params.x"},
                "post": {"output_key": "one"},
            },
            "second": {
                "exec_type": "queue",
                "service": "sum",
                "prep": {"input_key": "$params.word"},
                "post": {"output_key": "two"},
            },
        },
        "edges": [{"from": "first", "to": "second"}],
    }


def queued(service: str) -> dict[str, Any]:
    """One step for a pull worker."""
    node = {
        "exec_type": "queue",
        "service": service,
        "prep": {"input_key": "$params.x"},
        "post": {"output_key": "y"},
    }
    return {"start": "work", "nodes": {"work": node}, "edges": []}


def retried(service: str, retries: int) -> dict[str, Any]:
    """One step for a pull worker, tried again at once when it fails."""
    made = queued(service)
    made["nodes"]["work"] |= {"max_retries": retries, "wait_ms": 1}
    return made


def asking(prompt: str, timeout_ms: int) -> dict[str, Any]:
    """One question to a person, with a bound."""
    params = {"approval_key": "$shared.ok", "prompt": prompt, "timeout_ms": timeout_ms}
    return {"start": "ask", "nodes": {"ask": {"kind": "approval", "params": params}}, "edges": []}


def sleeping(delay_ms: int) -> dict[str, Any]:
    """One step that only sleeps."""
    nodes = {"nap": {"kind": "timer", "params": {"delay_ms": delay_ms}}}
    return {"start": "nap", "nodes": nodes, "edges": []}


def loop_of_events(count: int) -> dict[str, Any]:
    """Many small steps, for many events."""
    node = {
        "kind": "foreach",
        "exec_type": "local_func",
        "func": "mul",
        "params": {"mul": 1},
        "prep": {"input_key": "$params.items"},
        "post": {"output_key": "out"},
        "parallel_mode": "concurrent",
        "max_parallel": count,
    }
    gate = {"kind": "wait_event", "params": {"signal_key": "$shared.go"}}
    edges = [{"from": "gate", "to": "each"}]
    return {"start": "gate", "nodes": {"gate": gate, "each": node}, "edges": edges}


def crowd(service: str) -> dict[str, Any]:
    """A fan-out that is soon done, then one for pull workers of a service."""
    fan = {
        "kind": "foreach",
        "prep": {"input_key": "$params.items"},
        "parallel_mode": "concurrent",
        "max_parallel": 10_000,
    }
    local = {"exec_type": "local_func", "func": "mul", "params": {"mul": 1}}
    nodes = {
        "first": {**fan, **local, "post": {"output_key": "one"}},
        "each": {**fan, "exec_type": "queue", "service": service, "post": {"output_key": "two"}},
    }
    return {"start": "first", "nodes": nodes, "edges": [{"from": "first", "to": "each"}]}


def side_by_side(*services: str) -> dict[str, Any]:
    """Calls of services by workers, all at once."""
    execs = [{"exec_type": "queue", "service": service} for service in services]
    both = {"kind": "parallel", "parallel_mode": "concurrent", "parallel_execs": execs}
    return {"start": "both", "nodes": {"both": both}, "edges": []}
