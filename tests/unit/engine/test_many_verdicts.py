"""Two hundred claims, a quarter of them wrong: what is wrong is never built on."""

import random
from typing import Any

import pytest

from windlass.engine import plans
from windlass.model.rows import Attempt, Task
from windlass.model.states import RunState
from windlass.testing.local import local_engine

pytestmark = pytest.mark.anyio

PAIRS = 100
JUDGED = {"verifier_profile": "judge", "on_reject": "retry"}


def pairs() -> dict[str, Any]:
    """Tasks that are judged, each with one that stands on it and is judged too."""
    tasks: list[dict[str, Any]] = []
    for number in range(PAIRS):
        for alias, needs in ((f"first{number}", []), (f"second{number}", [f"first{number}"])):
            tasks.append(
                {
                    "alias": alias,
                    "goal": alias,
                    "depends_on": needs,
                    "verification_policy": JUDGED,
                    "retry_policy": {"max_attempts": 3},
                }
            )
    return {"tasks": tasks}


async def test_what_is_wrong_is_rejected_and_nothing_stands_on_it() -> None:
    rng = random.Random(200)
    aliases = [f"{half}{number}" for number in range(PAIRS) for half in ("first", "second")]
    faulty = set(rng.sample(aliases, len(aliases) // 4))
    rejected: list[str] = []
    built_on: list[Any] = []

    def work(brief: dict[str, Any], params: Any) -> dict[str, Any]:
        del params
        built_on.extend(one["structured_output"] for one in brief["predecessors"])
        alias, again = brief["task"]["alias"], bool(brief["feedback"])
        return {"structured_output": {"of": alias, "right": again or alias not in faulty}}

    def judge(brief: dict[str, Any], params: Any) -> dict[str, Any]:
        del params
        claim = brief["result"]["structured_output"]
        if claim["right"]:
            return {"verdict": "accepted"}
        rejected.append(claim["of"])
        return {"verdict": "rejected", "summary": "wrong"}

    async with local_engine({"work": work, "judge": judge}, clock="fake") as local:
        settings = {"goal": "be right", "plan": pairs(), "worker_profile": "work"}
        started, _ = await plans.start(local.engine, settings)
        ended = await local.ended(started.run.id, 60)
        attempts = [row for row in local.database.table(Attempt).values() if row.role == "work"]
        outputs = [row.output for row in local.database.table(Task).values() if row.idx < 0]
    assert ended.state is RunState.SUCCEEDED
    assert sorted(rejected) == sorted(faulty), "each wrong claim is rejected, once"
    assert len({one["of"] for one in built_on}) == PAIRS
    assert all(one["right"] for one in built_on)
    assert not any('"right":false' in (output or "") for output in outputs)
    assert len(attempts) == len(aliases) + len(faulty), "only what was rejected is done again"
