"""Agents on a real server, with a scripted model behind them: the whole path of a goal."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.integration.agents.agents import (
    Plans,
    agents_process,
    finish,
    planned,
    worked,
)
from windlass.testing.models import Line, Script, ScriptedCall, ScriptedModels
from windlass.testing.processes import wait_until

TIMEOUT_S = 4.0
TOOLS = '''
from windlass.agents import tool


@tool(effect="external_read")
def look_up(word: str) -> dict[str, str]:
    """Look a word up in the lexicon."""
    return {"word": word, "means": "a ship with a winch"}


@tool(effect="external_irreversible")
def pay(whom: str) -> str:
    """Pay somebody."""
    return f"paid {whom}"
'''


@pytest.fixture(scope="module")
def models(plans: Plans, folder: Path) -> Iterator[ScriptedModels]:
    """A model that each test gives a script, and agents that think with it."""
    (folder / "lexicon.py").write_text(TOOLS)
    price = ("--price-per-mtoken", "10", "--price-per-mtoken", "llm.verifier=1")
    args = (*price, "--tools", "lexicon", "--model-timeout-s", str(TIMEOUT_S))
    with (
        ScriptedModels(Script([])) as found,
        agents_process(plans.server, found.url, *args, folder=folder),
    ):
        yield found


def test_a_goal_is_planned_worked_on_with_a_tool_rejected_mended_and_accepted(
    plans: Plans, models: ScriptedModels
) -> None:
    policy = {"mode": "llm", "on_reject": "retry", "instructions": "names its source"}
    write = {
        "alias": "write",
        "goal": "say what a windlass is",
        "role": "final",
        "retry_policy": {"max_attempts": 2},
        "verification_policy": policy,
    }
    lines = [
        Line(role="plan", thinking="One task will do.", calls=finish(tasks=[{"alias": "write"}])),
        Line(role="plan", contains="tasks[0].goal", calls=finish(summary="one", tasks=[write])),
        Line(
            role="work",
            turn=0,
            text="I look it up first.",
            calls=[ScriptedCall("look_up", {"word": "windlass"})],
        ),
        Line(role="work", turn=1, contains="a ship with", calls=finish(summary="a first try")),
        Line(role="verify", calls=finish(verdict="rejected", summary="it names no source")),
        Line(
            role="work",
            contains="it names no source",
            calls=finish(summary="with source", structured_output={"text": "see the lexicon"}),
        ),
        Line(role="verify", contains="see the lexicon", calls=finish(verdict="accepted")),
    ]
    models.script = Script(lines)
    run_id = plans.start("what is a windlass?")
    run = plans.wait(run_id)
    assert (run["state"], run["output"]) == ("succeeded", {"text": "see the lexicon"}), run
    assert all("finish" in asked.tools for asked in models.asked)
    attempts = plans.attempts(run_id)
    assert sorted(row["role"] for row in attempts) == ["plan", "verify", "verify", "work", "work"]
    log = "\n".join(row["log"] for row in attempts)
    for said in ("… One task will do.", "I look it up first.", "→ look_up", "← look_up"):
        assert said in log, log
    actions = plans.http.get(f"/api/v1/runs/{run_id}/actions").json()["items"]
    told = [(row["tool"], row["effect"], row["state"], row["input"]) for row in actions]
    assert told == [("look_up", "external_read", "completed", {"word": "windlass"})]
    spent = used(plans, run_id)
    assert spent["tokens"] == 7 * 120
    assert spent["money"] == pytest.approx((5 * 120 * 10 + 2 * 120 * 1) / 1_000_000)


def used(plans: Plans, run_id: str) -> dict[str, float]:
    """What the attempts of a run reported, by unit."""
    total = {"tokens": 0.0, "money": 0.0}
    for attempt in plans.attempts(run_id):
        for unit, amount in (attempt.get("usage") or {}).items():
            total[unit] += amount
    return total


def test_a_model_that_is_busy_spends_no_try_of_anybodys(
    plans: Plans, models: ScriptedModels
) -> None:
    busy: dict[str, Any] = {"status": 429, "retry_after_s": 0.05}
    lines = [
        *(Line(role="plan", **busy) for _ in range(4)),
        planned({"alias": "a", "goal": "do it", "verification_policy": {"mode": "llm"}}),
        *(Line(role="work", **busy) for _ in range(2)),
        worked({"n": 1}),
        *(Line(role="verify", **busy) for _ in range(6)),
        Line(role="verify", calls=finish(verdict="accepted", summary="fine")),
    ]
    models.script = Script(lines)
    run = plans.wait(plans.start("wait for the model"))
    assert (run["state"], run["output"], run["failures"]) == ("succeeded", {"a": {"n": 1}}, 0), run


def test_what_a_model_does_wrong_is_told_to_it_and_in_the_end_the_attempts_failure(
    plans: Plans, models: ScriptedModels
) -> None:
    retried = {"retry_policy": {"max_attempts": 2}}
    lines = [
        planned(
            {"alias": "mends", "goal": "mend it"},
            {"alias": "slow", "goal": "answer late", **retried},
            {"alias": "hopeless", "goal": "never call", "on_failure": "continue"},
            {"alias": "refuses", "goal": "be bad", "on_failure": "continue", **retried},
        ),
        Line(role="work", alias="mends", calls=[ScriptedCall("finish", '{"summary": "half')]),
        Line(role="work", alias="mends", calls=[ScriptedCall("rm", {"path": "/"})]),
        Line(role="work", alias="mends", contains="Unknown tool", calls=finish(mood="good")),
        Line(role="work", alias="mends", contains="2 problem(s)", calls=finish(summary="mended")),
        Line(role="work", alias="slow", delay_s=20),
        Line(
            role="work", alias="slow", contains="did not answer in time", calls=finish(summary="ok")
        ),
        Line(role="work", alias="hopeless", text="I only talk.", times=0),
        Line(role="work", alias="refuses", refusal="I will not do that.", times=0),
    ]
    models.script = Script(lines)
    run_id = plans.start("cope with models")
    run = plans.wait(run_id)
    assert run["state"] == "succeeded", run
    tasks = plans.http.get(f"/api/v1/runs/{run_id}/tasks").json()["items"]
    states = {row["node"].removeprefix("plan/"): row["state"] for row in tasks}
    assert states == {
        "plan": "succeeded",
        "mends": "succeeded",
        "slow": "succeeded",
        "hopeless": "failed",
        "refuses": "failed",
    }
    errors = {row["node"].removeprefix("plan/"): row["error"] for row in tasks if row["error"]}
    assert errors["hopeless"]["code"] == "invalid_answer"
    assert "I will not do that." in errors["refuses"]["message"]
    # One refusal is enough: the same question would be refused again.
    assert sum(asked.alias == "refuses" for asked in models.asked) == 1
    assert sum(asked.alias == "hopeless" for asked in models.asked) == 4


def test_a_person_is_asked_and_the_answer_is_in_the_next_brief(
    plans: Plans, models: ScriptedModels
) -> None:
    ask = {"question": "Which port?", "options": [{"id": "n", "label": "north"}, {"id": "s"}]}
    lines = [
        planned({"alias": "sail", "goal": "sail somewhere"}),
        Line(role="work", calls=[ScriptedCall("ask_human", {**ask, "timeout_seconds": 5})]),
        Line(role="work", contains="default_action", calls=[ScriptedCall("ask_human", ask)]),
        Line(
            role="work",
            turn=0,
            contains='"option_id":"s"',
            calls=[ScriptedCall("write_board", {"key": "progress.course", "value": "south"})],
        ),
        Line(role="work", turn=1, calls=[ScriptedCall("list_board")]),
        worked("arrived", turn=2, contains=".course"),
    ]
    models.script = Script(lines)
    run_id = plans.start("sail")
    question = plans.question(run_id)
    assert question["prompt"] == "Which port?"
    path = f"/api/v1/checkpoints/{question['id']}/resolve"
    assert plans.http.post(path, json={"answer": "s"}).status_code == 200
    run = plans.wait(run_id)
    assert (run["state"], run["output"]) == ("succeeded", {"sail": "arrived"}), run


def test_what_cannot_be_undone_waits_for_a_person_s_approval(
    plans: Plans, models: ScriptedModels
) -> None:
    pay = [ScriptedCall("pay", {"whom": "ann"})]
    lines = [
        planned({"alias": "settle", "goal": "pay ann"}),
        Line(role="work", turn=0, calls=pay),
        Line(
            role="work",
            contains="needs an approval",
            calls=[ScriptedCall("ask_human", {"question": "May I pay ann?"})],
        ),
        Line(role="work", turn=0, contains="approval:", calls=pay),
        worked("settled", contains="paid ann"),
    ]
    models.script = Script(lines)
    run_id = plans.start("settle the bill")
    question = plans.question(run_id)
    made = plans.http.post(
        f"/api/v1/runs/{run_id}/tasks/settle/approvals", json={"reason": "it is due"}
    )
    assert made.status_code == 201, made.text
    path = f"/api/v1/checkpoints/{question['id']}/resolve"
    assert plans.http.post(path, json={"answer": made.json()["token"]}).status_code == 200
    run = plans.wait(run_id)
    assert (run["state"], run["output"]) == ("succeeded", {"settle": "settled"}), run
    [paid] = plans.http.get(f"/api/v1/runs/{run_id}/actions").json()["items"]
    assert (paid["tool"], paid["state"], paid["approvalId"]) == (
        "pay",
        "completed",
        made.json()["id"],
    )
    assert not any(made.json()["token"] in asked.last for asked in models.asked)
    for read in ("tasks", "attempts", "events"):
        assert made.json()["token"] not in plans.http.get(f"/api/v1/runs/{run_id}/{read}").text
    assert made.json()["token"] not in plans.http.get("/api/v1/checkpoints?state=all").text


def test_an_agent_is_seen_at_work_and_stops_in_the_middle_of_a_thought_when_cancelled(
    plans: Plans, models: ScriptedModels
) -> None:
    lines = [
        planned({"alias": "muse", "goal": "think for long"}),
        Line(role="work", turn=0, text="I begin.", calls=[ScriptedCall("look_up", {"word": "x"})]),
        Line(role="work", turn=1, delay_s=60),
    ]
    models.script = Script(lines)
    models.gone.clear()
    run_id = plans.start("think for long")
    at_work = ("claimed", "running")
    wait_until(
        lambda: any(
            "I begin." in (row["log"] or "") and row["state"] in at_work
            for row in plans.attempts(run_id)
        ),
        every_s=0.1,
    )
    assert plans.http.post(f"/api/v1/runs/{run_id}/cancel").status_code in (200, 202)
    assert models.gone.wait(TIMEOUT_S / 2), "the model still thinks"
    assert plans.wait(run_id)["state"] == "cancelled"


def test_agents_that_are_killed_in_the_middle_cost_no_more_than_their_leases(
    plans: Plans, folder: Path
) -> None:
    tasks: list[dict[str, Any]] = [
        {"alias": "judged", "goal": "first", "verification_policy": {"mode": "llm"}},
        {"alias": "worked", "goal": "second"},
        {"alias": "last", "goal": "third", "depends_on": ["judged", "worked"]},
    ]
    held: dict[str, Any] = {"delay_s": 60.0}
    profiles = ("planner.kill", "llm.kill", "llm.verifier.kill")
    for task in tasks:
        task["worker_profile"] = "llm.kill"
    tasks[0]["verification_policy"] = {"verifier_profile": "llm.verifier.kill"}
    script = Script(
        [
            planned(*tasks),
            worked(1, alias="judged"),
            Line(role="verify", **held),
            Line(role="work", alias="worked", **held),
            Line(role="plan", **held),
            planned({**tasks[1], "alias": "only"}),
            Line(role="verify", calls=finish(verdict="accepted", summary="fine")),
            worked(2, alias="worked"),
            worked(3, alias="last"),
            worked(4, alias="only"),
        ]
    )
    args = ("--profiles", ",".join(profiles))
    with ScriptedModels(script) as models:
        first = agents_process(plans.server, models.url, *args, folder=folder)
        first.start()
        both = [plans.start("survive", plannerProfile="planner.kill")]
        wait_until(lambda: len(models.asked) == 4)
        both.append(plans.start("survive too", plannerProfile="planner.kill"))
        # Now the model holds a plan, a result and a verdict, each for longer than the agent lives.
        wait_until(lambda: len(models.asked) == 5)
        first.kill()
        with agents_process(plans.server, models.url, *args, folder=folder):
            ended = [plans.wait(run_id, 60) for run_id in both]
    assert [run["state"] for run in ended] == ["succeeded", "succeeded"], ended
    assert [run["output"] for run in ended] == [{"last": 3}, {"only": 4}]
    assert [run["failures"] for run in ended] == [0, 0]
    states = [row["state"] for run_id in both for row in plans.attempts(run_id)]
    assert states.count("lost") == 3
