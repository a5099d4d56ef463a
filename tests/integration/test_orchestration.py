"""The `/orchestration` surface, by the words of its contract."""

import json
import time
from typing import Any
from uuid import uuid4

import httpx

from tests.hand import HandWorker
from tests.integration.conftest import Served

AT = "/orchestration"


class Surface:
    """Speaks to the surface as its clients do."""

    def __init__(self, served: Served) -> None:
        self.http = served.http

    def post(self, path: str, want: int = 200, **body: Any) -> Any:
        body.setdefault("idempotency_key", str(uuid4()))
        answer = self.http.post(AT + path, json=body)
        assert answer.status_code == want, answer.text
        if want >= 400:
            assert list(answer.json()) == ["message"]
        return answer.json()

    def get(self, path: str, want: int = 200, **query: Any) -> Any:
        answer = self.http.get(AT + path, params=query)
        assert answer.status_code == want, answer.text
        return answer.json()

    def start(self, service: str, *tasks: dict[str, Any], **more: Any) -> str:
        plan = {"tasks": list(tasks)}
        body = {"goal": "make it", "plan": plan, "worker_profile": service, **more}
        return str(self.post("/runs", 201, **body)["run_id"])

    def tasks(self, run_id: str, **query: Any) -> dict[str, Any]:
        items = self.get(f"/runs/{run_id}/tasks", **query)["items"]
        return {item["alias"]: item for item in items}

    def statuses(self, run_id: str, **query: Any) -> dict[str, str]:
        found = self.tasks(run_id, **query)
        return {alias: item["status"] for alias, item in found.items() if alias}

    def until(self, run_id: str, status: str) -> dict[str, Any]:
        deadline = time.monotonic() + 20
        while True:
            run: dict[str, Any] = self.get(f"/runs/{run_id}/snapshot")["run"]
            if run["lifecycle_status"] == status:
                return run
            assert time.monotonic() < deadline, f"it is {run['lifecycle_status']}, not {status}"
            time.sleep(0.05)


def task(alias: str, *needs: str, **more: Any) -> dict[str, Any]:
    return {"alias": alias, "goal": f"do {alias}", "depends_on": list(needs), **more}


def test_a_run_is_created_once_by_its_key_and_comes_to_its_output(served: Served) -> None:
    at = Surface(served)
    key = str(uuid4())
    body = {
        "goal": "say hello",
        "bot_id": "bot-7",
        "input": {"builtin_workerd": {"structured_output": {"text": "hello"}, "summary": "said"}},
        "idempotency_key": key,
        "source_metadata": {"chat_id": "c1"},
    }
    made = at.post("/runs", 201, **body)
    assert set(made) == {"run_id", "root_task_id", "snapshot_seq"}
    assert at.post("/runs", 201, **body) == made
    assert "message" in at.post("/runs", 409, **{**body, "goal": "say goodbye"})
    run = at.until(made["run_id"], "completed")
    assert run["goal"] == "say hello"
    assert run["source_metadata"] == {"chat_id": "c1"}
    assert run["intent_status"] == "idle"
    assert run["planner_epoch"] == 1
    assert list(run["output"].values()) == [{"text": "hello"}]
    listed = at.get("/bots/bot-7/runs")["items"]
    assert [item["id"] for item in listed] == [made["run_id"]]
    assert listed[0]["root_task_id"] == made["root_task_id"]
    assert at.get("/runs", lifecycle_status="completed", limit=1)["items"]


def test_bad_requests_are_told_in_one_line_and_change_nothing(served: Served) -> None:
    at = Surface(served)
    assert "goal" in at.post("/runs", 400, goal="")["message"]
    assert "idempotency_key" in at.post("/runs", 400, goal="x", idempotency_key=" ")["message"]
    bad = {"tasks": [{"alias": "a", "goal": "g", "mood": 1}]}
    assert "mood" in at.post("/runs", 400, goal="x", plan=bad)["message"]
    policy = {"runtime_limits": {"replans": 0}}
    at.post("/runs", 400, goal="x", requested_control_policy=policy)
    at.get("/runs/01a3185c-d383-7238-b18a-0a1bda9889fe/snapshot", 404)
    at.get("/runs", 400, lifecycle_status="asleep")
    with httpx.Client(base_url=str(served.http.base_url)) as nobody:
        assert nobody.get(f"{AT}/runs").status_code == 401


def test_lists_are_pages_of_one_moment(served: Served) -> None:
    at = Surface(served)
    worker = HandWorker(served.http, "orch.pages")
    run_id = at.start("orch.pages", task("a"), task("b", "a"), task("c", "b"))
    before = at.get(f"/runs/{run_id}/snapshot")["snapshot_seq"]
    first = at.get(f"/runs/{run_id}/tasks", limit=2)
    assert [item["alias"] for item in first["items"]] == ["", "a"]
    worker.finish(worker.take(), {"n": 1})
    second = at.get(f"/runs/{run_id}/tasks", limit=2, after=first["next_after"])
    assert second["snapshot_seq"] == first["snapshot_seq"] == before
    assert {item["alias"]: item["status"] for item in second["items"]} == {
        "b": "created",
        "c": "created",
    }
    assert second["next_after"] is None
    assert at.statuses(run_id) == {"a": "completed", "b": "ready", "c": "created"}
    assert at.statuses(run_id, as_of_seq=before) == {"a": "ready", "b": "created", "c": "created"}
    past = at.get(f"/runs/{run_id}/snapshot", as_of_seq=before)
    assert (past["snapshot_seq"], past["run"]["lifecycle_status"]) == (before, "running")
    at.get(f"/runs/{run_id}/snapshot", 400, as_of_seq=9_999)
    at.get(f"/runs/{run_id}/tasks", 400, after=first["next_after"], status="ready")
    at.get(f"/runs/{run_id}/tasks", 400, after="nonsense")
    at.get(f"/runs/{run_id}/tasks", 400, status="sleepy")
    at.post(f"/runs/{run_id}/cancel")


def test_events_are_read_in_pages_and_watched_without_a_gap(served: Served) -> None:
    at = Surface(served)
    worker = HandWorker(served.http, "orch.events")
    run_id = at.start("orch.events", task("a"), task("b", "a"))
    worker.finish(worker.take(), {"n": 1})
    page = at.get(f"/runs/{run_id}/events", limit=2)
    assert [event["seq"] for event in page["items"]] == [1, 2]
    assert page["items"][0]["type"] == "run.event.created"
    rest = at.get(f"/runs/{run_id}/events", after_seq=2, until_seq=page["until_seq"])
    assert rest["items"][0]["seq"] == 3
    at.get(f"/runs/{run_id}/events", 400, after_seq=2)
    at.get(f"/runs/{run_id}/events", 400, until_seq=9_999)
    worker.finish(worker.take(), {"n": 2})
    at.until(run_id, "completed")
    with served.http.stream("GET", f"{AT}/runs/{run_id}/watch", params={"after_seq": 2}) as stream:
        lines = [line for line in stream.iter_lines() if line.startswith("data: ")]
    seqs = [json.loads(line[6:])["seq"] for line in lines]
    newest = at.get(f"/runs/{run_id}/snapshot")["snapshot_seq"]
    assert seqs == list(range(3, newest + 1))


def test_a_question_that_blocks_the_run_pauses_and_restores_its_siblings(served: Served) -> None:
    at = Surface(served)
    worker = HandWorker(served.http, "orch.barrier")
    run_id = at.start("orch.barrier", task("a"), task("b"), task("c", "a", "b"))
    root = at.tasks(run_id)[""]["id"]
    taken = worker.take()
    place = f"{root}~a.0"
    asked = {
        "question": "Which?",
        "options": [{"id": "x", "kind": "choice", "label": "X"}],
        "blocks_run": True,
        "idempotency_key": "barrier-1",
    }
    made = at.post(f"/runs/{run_id}/tasks/{place}/checkpoints", 201, **asked)
    again = at.post(f"/runs/{run_id}/tasks/{place}/checkpoints", 201, **asked)
    assert made["checkpoint"]["id"] == again["checkpoint"]["id"]
    at.post(f"/runs/{run_id}/tasks/{place}/checkpoints", 400, **asked, task_id="another")
    run = at.until(run_id, "waiting_human")
    assert run["id"] == run_id
    tasks = at.tasks(run_id)
    found = [tasks[name]["status"] for name in "abc"]
    assert found == ["waiting_human", "waiting_human", "created"]
    assert [tasks[name]["waiting_scope"] for name in "ab"] == ["task", "run"]
    stale = served.http.post(
        "/api/v1/workers/hand-orch.barrier/exchange",
        json={
            "services": ["orch.barrier"],
            "results": [
                {"attemptId": taken["attemptId"], "token": taken["token"], "output": {"n": 0}}
            ],
        },
    )
    assert stale.json()["results"][0]["status"] == "stale"
    checkpoint = made["checkpoint"]["id"]
    at.post(f"/checkpoints/{checkpoint}/resolve", 400, mode="select_option", option_id="nope")
    at.post(f"/checkpoints/{checkpoint}/resolve", 400, mode="freeform", freeform_input="own words")
    at.post(f"/checkpoints/{checkpoint}/resolve", mode="select_option", option_id="x")
    at.post(f"/checkpoints/{checkpoint}/resolve", 409, mode="select_option", option_id="x")
    [shown] = at.get(f"/runs/{run_id}/checkpoints", status="resolved")["items"]
    assert (shown["resolved_mode"], shown["resolved_option_id"]) == ("select_option", "x")
    at.until(run_id, "running")
    for _ in range(3):
        attempt = worker.take()
        if attempt["input"]["task"]["alias"] == "a":
            assert attempt["input"]["answers"][0]["option_id"] == "x"
        worker.finish(attempt, {"n": 1})
    at.until(run_id, "completed")


def test_hints_cancels_and_retries(served: Served) -> None:
    at = Surface(served)
    worker = HandWorker(served.http, "orch.steered")
    run_id = at.start("orch.steered", task("a"), task("b", "a"), task("c"), task("d", "c"))
    tasks = at.tasks(run_id)
    more = {"kind": "constraint_update", "details": {"n": 2}, "target_task_id": tasks["b"]["id"]}
    at.post(f"/runs/{run_id}/hints", hint=more)
    at.post(f"/runs/{run_id}/hints", 400, hint={"kind": "advice"})
    at.post(f"/runs/{run_id}/tasks/{tasks['c']['id']}/cancel", reason="not needed")
    at.post(f"/runs/{run_id}/tasks/{tasks['c']['id']}/cancel", 409)
    at.post(f"/runs/{run_id}/tasks/{run_id}~nobody.0/cancel", 404)
    found = at.statuses(run_id)
    assert (found["c"], found["d"]) == ("cancelled", "cancelled")
    worker.fail(worker.take(), "boom")
    run = at.until(run_id, "failed")
    assert "boom" in run["terminal_reason"]
    at.post(f"/runs/{run_id}/hints", 409, hint=more)
    at.post(f"/runs/{run_id}/tasks/{tasks['a']['id']}/retry")
    at.until(run_id, "running")
    artifact = {"kind": "file", "uri": "x://1", "version": "1", "digest": "d"}
    worker.finish(worker.take(), {"summary": "made", "artifact_intents": [artifact]})
    taken = worker.take()
    assert taken["input"]["task"]["inputs"] == {"n": 2}
    worker.finish(taken, {"done": True})
    at.until(run_id, "completed")
    [kept] = at.get(f"/runs/{run_id}/artifacts", kind="file")["items"]
    assert (kept["uri"], kept["task_id"]) == ("x://1", tasks["a"]["id"])
    seen = at.get(f"/runs/{run_id}/inspector")
    assert seen["summary"]["attempts_total"] == 3
    assert [result["summary"] for result in seen["results"]].count("made") == 1
    assert "token" not in json.dumps(seen["attempts"])
    given = {line["attempt_id"]: line for line in seen["input_manifests"]}
    assert given.keys() == {row["input_manifest_id"] for row in seen["attempts"]}
    line = given[taken["attemptId"]]
    assert line["captured_task_inputs"] == {"n": 2}
    assert line["captured_artifact_versions"] == [{"task_id": tasks["a"]["id"], **artifact}]
    assert line["captured_blackboard_revisions"] == taken["input"]["blackboard"]
    assert line["captured_env_preconditions"] is None
    assert len(line["projection_hash"]) == 64
    rows = served.http.get(f"/api/v1/runs/{run_id}/attempts").json()["items"]
    native = next(row for row in rows if row["id"] == taken["attemptId"])
    assert native["manifest"]["hash"] == line["projection_hash"]
    assert native["manifest"]["inputs"] == {"n": 2}
    assert seen["dependencies"][0]["predecessor_task_id"] == tasks["a"]["id"]


def test_a_planned_run_is_created_until_its_plan_stands_and_is_planned_anew(served: Served) -> None:
    at = Surface(served)
    planner = HandWorker(served.http, "orch.planner")
    worker = HandWorker(served.http, "orch.replanned")
    made = at.post("/runs", 201, goal="plan it", planner_profile="orch.planner")
    run_id = made["run_id"]
    run = at.get(f"/runs/{run_id}/snapshot")["run"]
    assert (run["lifecycle_status"], run["intent_status"]) == ("created", "active")
    one = task("one", worker_profile="orch.replanned")
    planner.finish(planner.take(), {"tasks": [one]})
    assert at.until(run_id, "running")["intent_status"] == "idle"
    other = {"tasks": [task("two", worker_profile="orch.replanned")]}
    hint = {"kind": "replan_request", "details": {"replacement_plan": other}}
    told = at.post(f"/runs/{run_id}/hints", hint=hint)
    assert told["orchestration_intent_id"]
    assert at.statuses(run_id) == {"two": "ready"}
    assert at.get(f"/runs/{run_id}/snapshot")["run"]["planner_epoch"] == 2
    worker.finish(worker.take(), {"n": 1})
    assert at.until(run_id, "completed")["output"] == {"two": {"n": 1}}


def test_what_there_is_nothing_behind_says_so(served: Served) -> None:
    at = Surface(served)
    at.post("/env-resources", 503, name="box", kind="container")
    assert "box" not in str(at.get("/env-resources"))
    run_id = at.start("orch.nobody", task("a"))
    rebuilt = at.post(f"/runs/{run_id}/blackboard/rebuild")
    assert rebuilt["blackboard_configured"] is True
    at.post(f"/runs/{run_id}/cancel")
    cancelled = at.post(f"/runs/{run_id}/cancel")
    assert cancelled["lifecycle_status"] == "cancelled"
