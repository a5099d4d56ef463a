"""Plans in a user's tests: planners, workers and verifiers as functions, people as the test."""

from typing import Any

import pytest

from windlass import Worker
from windlass.model.blackboard import BoardEntry, BoardPast
from windlass.testing.local import local_engine
from windlass.testing.memory import Commit
from windlass.testing.scripted import ScriptedPlanner, ScriptedVerifier
from windlass.worker.context import Context
from windlass.worker.errors import PermanentError

pytestmark = pytest.mark.anyio

LOOK = {"alias": "look", "goal": "Look around", "worker_profile": "eyes"}


async def test_scripted_planners_and_verifiers_say_what_they_were_given_in_turn() -> None:
    policy = {"verifier_profile": "judge", "exec_type": "queue", "on_reject": "retry"}
    judged = {**LOOK, "verification_policy": policy, "retry_policy": {"max_attempts": 2}}
    planner, judge = ScriptedPlanner([judged]), ScriptedVerifier("too short", True)
    seen: list[list[Any]] = []

    def eyes(brief: dict[str, Any], params: object) -> dict[str, Any]:
        seen.append(brief["feedback"])
        return {"found": len(seen)}

    async with local_engine({"p": planner, "judge": judge, "eyes": eyes}) as engine:
        ended = await engine.ended(await engine.plan("Find out", planner="p"))
    assert ended.state == "succeeded"
    assert ended.shared["output"] == {"look": {"found": 2}}
    assert planner.briefs[0]["run"]["goal"] == "Find out"
    assert [brief["result"]["structured_output"] for brief in judge.briefs] == [
        {"found": 1},
        {"found": 2},
    ]
    assert seen[1][0]["summary"] == "too short", "the next attempt is told why"


async def test_a_worker_plans_judges_asks_and_hands_in_what_it_made() -> None:
    worker, asked = Worker(), list[str]()

    @worker.planner("p")
    async def plan(brief: dict[str, Any]) -> list[dict[str, Any]]:
        return [{**LOOK, "verification_policy": {"verifier_profile": "j", "exec_type": "queue"}}]

    @worker.verifier("j")
    def judge(result: dict[str, Any]) -> bool:
        return bool(result["artifacts"])

    @worker.service("eyes")
    def eyes(ctx: Context, brief: dict[str, Any]) -> str:
        asked.append(brief["role"])
        colour = ctx.ask("Which colour?", {"red": "Red", "blue": "Blue"})
        why = ctx.ask("And why?")
        ctx.artifact("report", "s3://reports/1", digest="sha256:00", summary="what was seen")
        return f"{colour} as {why}"

    async with local_engine(worker) as engine:
        run_id = await engine.plan("Find out", planner="p")
        assert (await engine.asks(run_id)).prompt == "Which colour?"
        await engine.answer(run_id, "blue")
        assert (await engine.asks(run_id)).prompt == "And why?"
        await engine.answer(run_id, "it is late")
        ended = await engine.ended(run_id)
        outputs = [attempt.output for attempt in engine.attempts(run_id)]
    assert ended.shared["output"] == {"look": "blue as it is late"}
    assert asked == ["work"] * 3, "each answer is another attempt's"
    assert any("s3://reports/1" in (output or "") for output in outputs)
    assert plan.__name__ == "plan", "a decorated function stays what it was"


async def test_what_nobody_answers_in_time_is_the_default() -> None:
    worker = Worker()

    @worker.service("eyes")
    async def eyes(ctx: Context) -> str:
        try:
            return ctx.ask("Go on?", ["yes", "no"], default="no", timeout_s=3600)
        except Exception:  # noqa: BLE001  a question is none
            return "kept back"

    async with local_engine(worker) as engine:
        ended = await engine.ended(await engine.plan("Find out", plan={"tasks": [LOOK]}))
    assert ended.shared["output"] == {"look": "no"}


async def test_only_tasks_of_plans_ask_and_hand_in_artifacts() -> None:
    context = Context(attempt_id="a@1")
    with pytest.raises(PermanentError, match="a flow asks by a node of its own"):
        context.ask("Why?")
    with pytest.raises(PermanentError, match=r"ctx\.artifact is for tasks of plans"):
        context.artifact("report", "s3://1", digest="0")


async def test_what_stands_on_the_blackboard_rides_in_the_commits_of_the_tasks() -> None:
    plan = {"tasks": [LOOK, {**LOOK, "alias": "again", "depends_on": ["look"]}]}

    def eyes(brief: dict[str, Any], params: object) -> str:
        return str(brief["task"]["alias"])

    async with local_engine({"eyes": eyes}) as engine:
        commits: list[Commit] = []
        await engine.ended(await engine.plan("Find out", plan=plan))
        engine.database.watchers.append(commits.append)
        run_id = (await engine.ended(await engine.plan("Find out", plan=plan))).run.id
        keys = {row.key for row in engine.database.of_run(BoardEntry, run_id)}
    for alias in ("look", "again"):
        assert any(key.endswith(f"~{alias}.0.result.summary") for key in keys), keys
    own = [c for c in commits if {table for table, *_ in c.changes} <= {BoardEntry, BoardPast}]
    assert not own, "no commit was for the blackboard alone"
    assert len(commits) <= 5, "begun, claimed, and two results"
