"""The flow `windlass dev` shows itself with: a chain, a fan-out, a decision."""

from typing import Any

HELLO: dict[str, Any] = {
    "start": "greet",
    "nodes": {
        "greet": {
            "kind": "executor",
            "service": "transform",
            "params": {"op": "upper"},
            "prep": {"input_key": "$params.name"},
            "post": {"output_key": "greeting"},
        },
        "double": {
            "kind": "foreach",
            "service": "transform",
            "params": {"mul": 2},
            "prep": {"input_key": "$params.numbers"},
            "post": {"output_key": "doubled"},
            "parallel_mode": "concurrent",
        },
        "total": {
            "kind": "executor",
            "service": "sum",
            "prep": {"input_key": "$shared.doubled"},
            "post": {"output_key": "total"},
        },
        "size": {
            "kind": "choice",
            "choice_cases": [{"action": "big", "expr": {"gt": ["$shared.total", 10]}}],
            "default_action": "small",
        },
        "pause": {"kind": "timer", "params": {"delay_ms": 50}},
    },
    "edges": [
        {"from": "greet", "action": "default", "to": "double"},
        {"from": "double", "action": "default", "to": "total"},
        {"from": "total", "action": "default", "to": "size"},
        {"from": "size", "action": "big", "to": "pause"},
    ],
}
HELLO_PARAMS: dict[str, Any] = {"name": "world", "numbers": [1, 2, 3]}
