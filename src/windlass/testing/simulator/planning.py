"""Plans in simulated worlds: goals, planners at random, and work that wants another plan."""

import random
from typing import Any

from windlass.testing.simulator.flows import PULL, Body
from windlass.testing.simulator.verdicts import policy_of

_POLICIES = ("fail_run", "continue", "replan", "replan", "ask")
_NO_PLANS: tuple[Any, ...] = ({"tasks": []}, {"tasks": [{"alias": "t"}], "mood": 1}, None)


def make_plan_definition(rng: random.Random) -> Body:
    """A definition of the plan dialect, with or without a plan to begin with."""
    definition: Body = {
        "goal": "come to an end",
        "planner_profile": rng.choice(PULL),
        "worker_profile": rng.choice(PULL),
        "limits": {"replans": rng.choice((1, 4, 8))},
    }
    definition["plan"] = make_plan(rng) if rng.random() < 0.4 else {"tasks": [_task(0, rng)]}
    return definition


def make_plan(rng: random.Random) -> Body:
    """A plan of a few tasks; the next one is often much like it."""
    return {"tasks": [_task(number, rng) for number in range(rng.randint(1, 5))]}


def add_plans(source: Body, rng: random.Random) -> None:
    """Let plans stand in a flow where calls did, with what these were given and gave."""
    for name, node in source["nodes"].items():
        if node["kind"] == "subflow":
            add_plans(node["subflow"], rng)
        elif node["kind"] == "executor" and rng.random() < 0.4:
            kept = {key: node[key] for key in ("prep", "post") if key in node}
            source["nodes"][name] = {**_plan_node(rng), **kept}


def _plan_node(rng: random.Random) -> Body:
    node: Body = {
        "kind": "plan",
        "goal": "come to $params.p by ${shared.out0}",
        "planner_profile": rng.choice(PULL),
        "worker_profile": rng.choice(PULL),
        "plan_limits": {"replans": rng.choice((1, 4, 8))},
        "on_failure": rng.choice(_POLICIES),
    }
    if rng.random() < 0.6:
        node["plan"] = make_plan(rng)
        node["plan"]["tasks"][-1]["role"] = rng.choice(("", "final"))
    judged = rng.random()
    if judged < 0.2:
        node["verification"] = {**policy_of(rng), "on_reject": rng.choice(("retry", "replan"))}
    elif judged < 0.5:
        # What rules ask for here is there: people would have anything else done again for ever.
        rejected = rng.choice(("fail", "retry", "replan", "ask"))
        rules: Body = {"require_structured_output": True, "on_reject": rejected}
        node["verification"] = {"mode": "builtin_basic", **rules}
    return node


def _task(number: int, rng: random.Random) -> Body:
    task: Body = {
        "alias": f"t{number}",
        "goal": f"goal {rng.choice((0, 0, 0, 1))}",
        "depends_on": [f"t{other}" for other in range(number) if rng.random() < 0.4],
        "on_failure": rng.choice(_POLICIES),
    }
    if rng.random() < 0.3:
        task["worker_profile"] = rng.choice(PULL)
    if rng.random() < 0.5:
        task["retry_policy"] = {"max_attempts": rng.randint(1, 3)}
    if rng.random() < 0.3:
        task["verification_policy"] = {
            **policy_of(rng),
            "on_reject": rng.choice(("fail", "retry", "replan", "ask")),
        }
    return task


def planned(rng: random.Random, *, calm: bool) -> Any:
    """What a planner answers."""
    if calm:
        return {"tasks": [{"alias": "t0", "goal": "goal 0", "worker_profile": PULL[0]}]}
    if rng.random() < 0.1:
        return rng.choice(_NO_PLANS)
    plan = make_plan(rng)
    for task in plan["tasks"]:
        # Who does a plan's tasks need not be said where it is asked for.
        task.setdefault("worker_profile", PULL[0])
    return plan


def resumed(value: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    """A result that may also be a question, after which the work goes on in the same place."""
    if rng.random() < 0.5:
        return value
    asked = {"question": "Go on?", "resume_policy": {"resume_mode": "resume_held_env"}}
    return {"status": "waiting", "summary": "?", "checkpoint": asked, **value}


def answer(value: dict[str, Any], rng: random.Random, *, asks: bool) -> dict[str, Any]:
    """A result as a worker of a plan's task may put it: it may want another plan, or ask. Where
    there are environments it often `asks`, to go on in the same place."""
    chance = rng.random()
    if asks and chance > 0.6:
        return resumed(value, rng)
    if chance < 0.1:
        asked: dict[str, Any] = {"question": "Go on?", "blocks_run": chance < 0.04}
        return {"status": "waiting", "summary": "?", "checkpoint": asked, **value}
    if chance < 0.2:
        return {"status": "failed", "summary": "cannot", "request_replan": chance < 0.15, **value}
    if chance < 0.35:
        replan: dict[str, Any] = {"status": "completed", "summary": "", "request_replan": True}
        if chance < 0.27:
            replan["child_tasks"] = make_plan(rng)["tasks"]
        return {**replan, "structured_output": value, **value}
    return value
