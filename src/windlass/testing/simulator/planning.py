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
        return {"tasks": [{"alias": "t0", "goal": "goal 0"}]}
    return rng.choice(_NO_PLANS) if rng.random() < 0.1 else make_plan(rng)


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
