"""An agent plans, works and judges within the contract, whatever its model says at first."""

import asyncio
from functools import partial
from typing import Any

import pytest

from tests.unit.agents.models import PLAN, VERIFY, WORK, Say, agent, context, model
from windlass.agents.agent import ProfileAgent
from windlass.agents.effects import AgentTool
from windlass.agents.settings import AgentSettings
from windlass.model.ledger import EffectClass
from windlass.worker.errors import ServiceError

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def test_a_plan_is_mended_until_the_kernel_would_take_it() -> None:
    told: list[str] = []

    def answer(number: int, last: str) -> list[Say]:
        told.append(last)
        if number == 0:
            bad = [{"alias": "a b", "goal": ""}, {"alias": "c", "goal": "x", "mood": 1}]
            return [("finish", {"tasks": bad})]
        return [("finish", {"tasks": [{"alias": "a", "goal": "x"}]})]

    plan = await agent(answer).serve(context("plan"), PLAN)
    assert plan == {"tasks": [{"alias": "a", "goal": "x"}]}
    assert "3 problem(s)" in told[1]
    for place in ("tasks[0].alias", "tasks[0].goal", "tasks[1].mood"):
        assert place in told[1]


async def test_a_plan_keeps_to_the_limits_of_its_brief() -> None:
    def answer(number: int, last: str) -> list[Say]:
        if number and "2 tasks, at most 1" in last:
            return [("finish", {"tasks": [{"alias": "a", "goal": "x"}]})]
        many = [{"alias": name, "goal": "x"} for name in ("a", "b")]
        return [("finish", {"tasks": many})]

    brief = {**PLAN, "limits": {"plan_tasks": 1}}
    plan = await agent(answer).serve(context("plan"), brief)
    assert len(plan["tasks"]) == 1


async def test_a_worker_adds_artifacts_to_its_result() -> None:
    def answer(number: int, last: str) -> list[Say]:
        match number:
            case 0:
                return [("add_artifact", {"kind": "report", "uri": "file:///x"})]
            case 1:
                assert "digest" in last
                return [("add_artifact", {"kind": "report", "content": "ships"})]
            case _:
                return [("finish", {"summary": "done", "structured_output": [1]})]

    ctx = context()
    result = await agent(answer).serve(ctx, WORK)
    assert (result["status"], result["structured_output"]) == ("completed", [1])
    [artifact] = result["artifacts"]
    assert artifact["uri"] == "data:text/plain;base64,c2hpcHM="
    assert artifact["digest"].startswith("sha256:")


async def test_a_question_ends_the_attempt_with_a_checkpoint() -> None:
    def answer(number: int, last: str) -> list[Say]:
        if not number:
            return [("ask_human", {"question": " "})]
        assert "characters" in last
        return [("ask_human", {"question": "Which?"})]

    result = await agent(answer).serve(context(), WORK)
    assert result["status"] == "waiting"
    assert result["checkpoint"]["question"] == "Which?"
    assert [option["kind"] for option in result["checkpoint"]["options"]] == ["freeform"]


@pytest.mark.parametrize(
    ("given", "flaw"),
    [
        ({"verdict": "fine", "summary": "x"}, "no verdict"),
        ({"verdict": "rejected", "summary": ""}, "what has to change"),
        ({"verdict": "ask", "summary": "x"}, "ask_human"),
        ({"verdict": "accepted", "summary": "x", "request_replan": True}, "planned anew"),
        ({"verdict": "accepted", "summary": "x", "mood": 1}, "mood: not known"),
    ],
)
async def test_a_verdict_is_mended_until_the_kernel_would_take_it(
    given: dict[str, Any], flaw: str
) -> None:
    right = {"verdict": "rejected", "summary": "too short"}

    def answer(number: int, last: str) -> list[Say]:
        if not number:
            return [("finish", given)]
        assert flaw in last
        return [("finish", right)]

    assert await agent(answer).serve(context("verify"), VERIFY) == right


async def test_a_verifier_leaves_it_to_a_person() -> None:
    question = {"question": "Good?", "options": [{"id": "y", "label": "yes"}]}
    found = await agent(lambda _number, _last: [("ask_human", question)]).serve(
        context("verify"), VERIFY
    )
    assert (found["verdict"], found["checkpoint"]["options"][0]["id"]) == ("ask", "y")


async def test_a_step_of_a_flow_gets_the_value_itself() -> None:
    done = agent(lambda _n, last: [("finish", {"structured_output": {"echo": last}})])
    assert await done.serve(context(), {"text": "hi"}) == {"echo": '{"text":"hi"}'}
    gave_up = agent(lambda _n, _l: [("finish", {"status": "failed", "summary": "cannot"})])
    with pytest.raises(ServiceError, match="cannot"):
        await gave_up.serve(context(), "hi")


async def test_an_agent_is_seen_at_work() -> None:
    def answer(number: int, _last: str) -> list[Say]:
        if not number:
            words: list[Say] = [("thinking", "What is\nasked?"), ("text", "I note it.")]
            return [*words, ("add_artifact", {"kind": "note", "content": "x"})]
        return [("finish", {"summary": "done"})]

    ctx = context()
    await agent(answer).serve(ctx, WORK)
    assert ctx.log_text.split("\n") == [
        "… What is",
        "… asked?",
        "I note it.",
        '→ add_artifact {"kind": "note", "content": "x"}',
        "← add_artifact kept as artifact 1",
        '→ finish {"summary": "done"}',
    ]


def says(said: list[Say], _number: int, _last: str) -> list[Say]:
    return said


async def test_what_was_spent_is_reported_also_by_an_attempt_that_fails() -> None:
    settings = AgentSettings(models={"": "x:y"}, prices={"": 2.0})
    endings: list[list[Say]] = [[("finish", {"summary": "done"})], [("text", "no tool")]]
    for ending in endings:
        ctx = context()
        await agent(partial(says, ending), settings).serve(ctx, WORK)
        assert ctx.usage["tokens"] > 0
        assert ctx.usage["money"] == pytest.approx(ctx.usage["tokens"] * 2 / 1_000_000)


async def test_a_cancelled_attempt_reports_what_it_spent_before() -> None:
    thinking = asyncio.Event()

    def answer(number: int, _last: str) -> list[Say]:
        return [("wait", {})]

    async def wait() -> None:
        """Wait for ever."""
        thinking.set()
        await asyncio.sleep(60)

    ctx = context()
    tools = AgentSettings(
        models={"": "x:y"}, tools=(AgentTool("wait", wait, EffectClass.LOCAL_READ),)
    )
    task = asyncio.ensure_future(ProfileAgent("p", model(answer), tools).serve(ctx, WORK))
    await thinking.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ctx.usage["tokens"] > 0


async def test_a_model_that_never_ends_is_stopped() -> None:
    settings = AgentSettings(models={"": "x:y"}, steps_max=3)
    loops = agent(lambda _n, _l: [("add_artifact", {"kind": "n", "content": "x"})], settings)
    result = await loops.serve(context(), WORK)
    assert (result["status"], result["failure_class"]) == ("failed", "too_many_steps")
    assert len(result["artifacts"]) == 3
