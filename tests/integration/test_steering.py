"""Steering plans over HTTP: hints, questions from outside, barriers, doing without a task."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

from tests.hand import HandWorker
from tests.integration.conftest import TOKEN, Served
from tests.integration.test_plans import start
from windlass.client import Client


def plan(service: str, *aliases: str, **more: Any) -> dict[str, Any]:
    tasks = [{"alias": alias, "goal": f"do {alias}", **more} for alias in aliases]
    return {"goal": "be steered", "plan": {"tasks": tasks}, "workerProfile": service}


def states(served: Served, run_id: str) -> dict[str, str]:
    items = served.http.get(f"/api/v1/runs/{run_id}/tasks").json()["items"]
    return {t["node"].removeprefix("plan/"): t["state"] for t in items if t["node"] != "plan"}


def post(served: Served, path: str, body: dict[str, Any], key: str = "", want: int = 202) -> Any:
    headers = {"Idempotency-Key": key} if key else {}
    answer = served.http.post(f"/api/v1/runs/{path}", json=body, headers=headers)
    assert answer.status_code == want, answer.text
    return answer.json()


def test_a_question_from_outside_holds_back_the_run_and_its_answer_is_told(served: Served) -> None:
    worker = HandWorker(served.http, "steered.asked")
    run_id = start(served, **plan("steered.asked", "a", "b"))
    taken = worker.take()
    alias = taken["input"]["task"]["alias"]
    question = {
        "question": "Which way?",
        "options": [{"id": "left", "label": "Left"}, {"id": "own", "kind": "freeform"}],
        "blocksRun": True,
    }
    path = f"{run_id}/tasks/{alias}/checkpoints"
    asked = post(served, path, question, "ask-1", 201)
    assert post(served, path, question, "ask-1", 201)["id"] == asked["id"], "the same key asks once"
    assert (asked["blocksRun"], [one["id"] for one in asked["options"]]) == (True, ["left", "own"])
    assert set(states(served, run_id).values()) == {"waiting"}
    why = served.http.get(f"/api/v1/runs/{run_id}/why").json()
    assert "waits for a person" in why["line"]
    assert any("held back" in reason["text"] for reason in why["reasons"])
    refused = served.http.post(
        f"/api/v1/checkpoints/{asked['id']}/resolve", json={"answer": "right"}
    )
    assert refused.status_code == 200, "an option of their own takes any words"
    took = {t["input"]["task"]["alias"]: t for t in (worker.take(), worker.take())}
    [told] = took[alias]["input"]["answers"]
    assert (told["question"], told["freeform_input"]) == ("Which way?", "right")
    for attempt in took.values():
        worker.finish(attempt, {"done": True})
    assert served.wait(run_id)["state"] == "succeeded"
    events = served.http.get(f"/api/v1/runs/{run_id}/events").json()["items"]
    assert "checkpoint.asked" in [event["type"] for event in events]


def test_hints_reach_who_comes_next_and_bring_another_plan(served: Served) -> None:
    worker = HandWorker(served.http, "steered.hinted")
    body = plan("steered.hinted", "a", "b")
    body["plan"]["tasks"][1]["depends_on"] = ["a"]
    run_id = start(served, **body, input={"city": "Bern"})
    more = {"kind": "constraint_update", "details": {"depth": 3}, "task": "b"}
    post(served, f"{run_id}/hints", more, "hint-1")
    post(served, f"{run_id}/hints", more, "hint-1")
    post(served, f"{run_id}/hints", {"kind": "context_update", "details": {"year": 2026}})
    worker.finish(worker.take(), 1)
    taken = worker.take()
    assert taken["input"]["task"]["inputs"] == {"depth": 3}
    assert taken["input"]["run"]["input"] == {"city": "Bern", "year": 2026}
    late = post(served, f"{run_id}/hints", more, want=409)
    assert "has its inputs already" in late["detail"]
    other = {"tasks": [{"alias": "z", "goal": "do z", "worker_profile": "steered.hinted"}]}
    bad = {"kind": "replan_request", "details": {"replacement_plan": {"tasks": [{"alias": ""}]}}}
    post(served, f"{run_id}/hints", bad, want=422)
    post(served, f"{run_id}/hints", {**bad, "details": {"replacement_plan": other}})
    assert states(served, run_id)["z"] == "queued"
    worker.finish(worker.take(), {"end": 1})
    assert served.wait(run_id)["output"] == {"z": {"end": 1}}
    for wrong in ({"kind": "advice"}, {"kind": "context_update"}, {"kind": 3}):
        post(served, f"{run_id}/hints", wrong, want=400)


def test_a_task_is_done_without(served: Served) -> None:
    worker = HandWorker(served.http, "steered.without")
    body = plan("steered.without", "a", "b", "c")
    body["plan"]["tasks"][2]["depends_on"] = ["b"]
    run_id = start(served, **body)
    post(served, f"{run_id}/tasks/b/cancel", {"reason": "not needed"}, "cancel-b")
    post(served, f"{run_id}/tasks/b/cancel", {"reason": "not needed"}, "cancel-b")
    again = post(served, f"{run_id}/tasks/b/cancel", {}, want=409)
    assert "already cancelled" in again["detail"]
    post(served, f"{run_id}/tasks/nobody/cancel", {}, want=404)
    assert states(served, run_id) == {"a": "queued", "b": "cancelled", "c": "skipped"}
    worker.finish(worker.take(), {"n": 1})
    run = served.wait(run_id)
    assert (run["state"], run["output"]) == ("succeeded", {"a": {"n": 1}})
    lines = served.http.get("/api/v1/audit-events?action=task.cancel").json()["items"]
    assert any(run_id in line["targetId"] for line in lines)


def test_the_sdk_plans_hints_asks_and_cancels(served: Served) -> None:
    worker = HandWorker(served.http, "steered.sdk")
    tasks = [{"alias": "a", "goal": "do a"}, {"alias": "b", "goal": "do b", "depends_on": ["a"]}]
    with Client(served.server.url, TOKEN) as client:
        run = client.plan("be steered", plan={"tasks": tasks}, worker="steered.sdk")
        run.hint("context_update", details={"n": 1})
        asked = run.ask("a", "Sure?", options={"yes": "Yes"})
        client.answer(asked.id, "yes")
        run.cancel_task("b")
        taken = worker.take()
        assert taken["input"]["answers"][0]["option_id"] == "yes"
        worker.finish(taken, 1)
        assert run.wait(20).state == "succeeded"


def test_the_same_hint_from_many_at_once_is_one_hint(served: Served) -> None:
    run_id = start(served, **plan("steered.many", "a"))
    hint = {"kind": "context_update", "details": {"n": 1}}

    def send(_: int) -> int:
        headers = {"Idempotency-Key": "many-1"}
        at = f"/api/v1/runs/{run_id}/hints"
        return served.http.post(at, json=hint, headers=headers).status_code

    with ThreadPoolExecutor(8) as threads:
        assert set(threads.map(send, range(16))) == {202}
    events = served.http.get(f"/api/v1/runs/{run_id}/events").json()["items"]
    assert [event["type"] for event in events].count("hint.given") == 1
    served.http.post(f"/api/v1/runs/{run_id}/cancel", json={})
