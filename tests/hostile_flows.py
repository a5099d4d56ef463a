"""Flows that are allowed and mean harm: loops, fan-outs, nests and conditions as large as they get.

`definitions` of the values beside it are odd in form; these are well formed, and what they would
cost is what is wrong with them.
"""

import random
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

from tests.hostile_values import nested

Json = dict[str, Any]
Draw = random.Random

CALL: Json = {"kind": "executor", "exec_type": "local_func", "func": "log_result"}


def adversarial(seed: int, count: int) -> Iterator[tuple[str, Json]]:
    """Flows with what they try, the shapes in turn and their sizes drawn."""
    draw = random.Random(seed)
    for number in range(count):
        shape = SHAPES[number % len(SHAPES)]
        yield f"{shape.__name__} {number}", shape(draw)


def flow(start: str, nodes: Json, *edges: tuple[str, str]) -> Json:
    told = [{"from": one, "to": other, "action": "default"} for one, other in edges]
    return {"start": start, "nodes": nodes, "edges": told}


def idle_loop(draw: Draw) -> Json:
    """Round and round without ever doing anything."""
    nodes = {"t": timer(draw.choice([0, 1])), "e": each([])}
    return flow("t", nodes, ("t", "e"), ("e", "t"))


def spinning_loop(draw: Draw) -> Json:
    """Round and round in one step, over a list of which only its run knows that it is empty."""
    none = {**CALL, "kind": "foreach", "prep": {"input_key": "$params.none"}}
    nodes = {"t": timer(draw.choice([0, 1, 50])), "e": none}
    return flow("t", nodes, ("t", "e"), ("e", "e"))


def choosing_loop(draw: Draw) -> Json:
    """Choices that send each other on, and never anywhere else."""
    names = [f"c{n}" for n in range(draw.randrange(1, 6))]
    edges = [(name, names[(at + 1) % len(names)]) for at, name in enumerate(names)]
    nodes = {name: {"kind": "choice", "default_action": "default"} for name in names}
    return flow(names[0], nodes, *edges)


def busy_loop(draw: Draw) -> Json:
    """Does something, and again, for as long as it is let."""
    nodes = {"a": dict(CALL), "t": timer(draw.choice([1, 5]))}
    return flow("a", nodes, ("a", "t"), ("t", "a"))


def growing_loop(draw: Draw) -> Json:
    """Twice as much to keep each time round."""
    twice = {"input_map": {"a": "$shared.x", "b": "$shared.x", "c": "x" * draw.randrange(1, 1_000)}}
    return flow("a", {"a": {**CALL, "prep": twice, "post": {"output_key": "x"}}}, ("a", "a"))


def empty_fan(draw: Draw) -> Json:
    names = [f"e{n}" for n in range(draw.randrange(1, 200))]
    return flow(names[0], {name: each([]) for name in names}, *pairwise(names))


def huge_fan(draw: Draw) -> Json:
    """Thousands of items, at once or one after the other."""
    count = draw.choice([200, 500, 1_200])
    mode = draw.choice(["concurrent", "concurrent", "sequential"])
    return flow("e", {"e": {**each(list(range(count))), "parallel_mode": mode}})


def fan_of_fans(draw: Draw) -> Json:
    """Branches that fan out themselves."""
    inner = flow("e", {"e": each(list(range(draw.randrange(5, 30))))})
    branch = {"kind": "subflow", "subflow": inner}
    names = [f"s{n}" for n in range(draw.randrange(2, 20))]
    return flow(names[0], dict.fromkeys(names, branch), *pairwise(names))


def deep_nest(draw: Draw) -> Json:
    return nested(draw.randrange(5, 60))


def wide_condition(draw: Draw) -> Json:
    """Many cases, each of which looks through a long list, and none of which holds."""
    one = {"contains": ["$params.items", -1]}
    cases = [{"action": "never", "expr": one} for _ in range(draw.choice([50, 500, 2_000]))]
    items = list(range(draw.choice([100, 2_000])))
    choice = {"kind": "choice", "params": {"items": items}, "choice_cases": cases}
    return flow("c", {"c": choice})


def deep_condition(draw: Draw) -> Json:
    expr: Json = {"eq": [1, 2]}
    for _ in range(draw.randrange(10, 90)):
        expr = {"not": expr} if draw.random() < 0.5 else {"or": [expr, {"eq": ["$shared.x", 1]}]}
    case = {"action": "never", "expr": expr}
    return flow("c", {"c": {"kind": "choice", "choice_cases": [case] * draw.randrange(1, 20)}})


def endless_wait(draw: Draw) -> Json:
    """Waits for a moment, and then again."""
    wait = {"signal_key": "$shared.never", "timeout_ms": draw.choice([1, 20])}
    node = {"kind": "wait_event", "params": wait, "failure_strategy": "retry"}
    return flow("w", {"w": {**node, "max_retries": draw.choice([0, 1_000])}})


def eager_retries(draw: Draw) -> Json:
    """Fails, and is tried again at once."""
    call = {**CALL, "func": "upper", "max_retries": draw.choice([20, 300]), "wait_ms": 0}
    return flow("a", {"a": call})


def nobody_serves(draw: Draw) -> Json:
    """Thousands of calls that wait for a worker who never comes."""
    count = draw.choice([1, 300])
    call = {"exec_type": "queue", "service": f"nobody-{draw.randrange(50)}"}
    node = {"kind": "foreach", "parallel_mode": "concurrent", **call}
    return flow("e", {"e": {**node, "prep": {"input_key": list(range(count))}}})


def timer(delay_ms: int) -> Json:
    return {"kind": "timer", "params": {"delay_ms": delay_ms}}


def each(items: list[int]) -> Json:
    return {**CALL, "kind": "foreach", "prep": {"input_key": items}}


SHAPES: tuple[Callable[[Draw], Json], ...] = (
    idle_loop,
    spinning_loop,
    choosing_loop,
    busy_loop,
    growing_loop,
    empty_fan,
    huge_fan,
    fan_of_fans,
    deep_nest,
    wide_condition,
    deep_condition,
    endless_wait,
    eager_retries,
    nobody_serves,
)
