"""The PocketFlow surface does what its documents say, without the defects of its first program."""

import json
import threading
import time
from typing import Any

import httpx
import pytest

from tests.integration.conftest import LEASE_S, TOKEN


class Pocket:
    """A client as the seed's own would be: `/api` paths, Go field names."""

    def __init__(self, http: httpx.Client, prefix: str = "/api") -> None:
        self.http = http
        self.prefix = prefix

    def post(self, path: str, body: Any = None, **kwargs: Any) -> httpx.Response:
        return self.http.post(self.prefix + path, json=body, **kwargs)

    def get(self, path: str, **params: Any) -> httpx.Response:
        return self.http.get(self.prefix + path, params=params)

    def flow(self, definition: Any, name: str = "pocket") -> str:
        flow_id = self.post("/flows", {"Name": name, "Description": "d"}).json()["id"]
        body = {"FlowID": flow_id, "Version": 1, "DefinitionJSON": json.dumps(definition)}
        answer = self.post("/flows/version", {**body, "Status": "published"})
        assert answer.status_code == 200, answer.text
        assert answer.json()["id"].startswith("ver-")
        return str(flow_id)

    def task(self, flow_id: str, params: Any = None) -> str:
        body = {"FlowID": flow_id, "ParamsJSON": json.dumps(params or {})}
        answer = self.post("/tasks", body)
        assert answer.status_code == 200, answer.text
        return str(answer.json()["id"])

    def until(self, task_id: str, *statuses: str, timeout_s: float = 20) -> dict[str, Any]:
        deadline = time.monotonic() + timeout_s
        task: dict[str, Any] = {}
        while time.monotonic() < deadline:
            task = self.get("/tasks/get", id=task_id).json()
            if task["status"] in statuses:
                return task
            time.sleep(0.02)
        raise AssertionError(f"still {task}")


@pytest.fixture(params=["/api", ""])
def pocket(served: Any, request: pytest.FixtureRequest) -> Pocket:
    return Pocket(served.http, request.param)


def queue_flow(service: str, **node: Any) -> dict[str, Any]:
    job = {"kind": "executor", "exec_type": "queue", "service": service, **node}
    job.setdefault("post", {"output_key": "out"})
    return {"start": "job", "nodes": {"job": job}, "edges": []}


def poll(pocket: Pocket, service: str, worker: str = "w1", **extra: Any) -> dict[str, Any]:
    body = {"worker_id": worker, "services": [service], "wait_ms": 10_000, **extra}
    answer = pocket.post("/queue/poll", body)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def complete(pocket: Pocket, job: dict[str, Any], result: Any, **extra: Any) -> httpx.Response:
    return pocket.post("/queue/complete", {"queue_id": job["id"], "result": result, **extra})


def test_a_flow_goes_from_definition_to_result(pocket: Pocket) -> None:
    node = {
        "service": "transform",
        "params": {"mul": 2},
        "prep": {"input_key": "$params.val"},
        "post": {"output_key": "out"},
    }
    flow_id = pocket.flow({"start": "a", "nodes": {"a": node}, "edges": []})
    task_id = pocket.task(flow_id, {"val": 21})
    assert task_id.startswith("task-")
    task = pocket.until(task_id, "completed")
    assert json.loads(task["shared_json"]) == {"out": 42}
    assert task["current_node_key"] == ""
    assert task["flow_id"] == flow_id
    runs = pocket.get("/tasks/runs", task_id=task_id).json()
    assert [(run["node_key"], run["status"], run["worker_id"]) for run in runs] == [
        ("a", "ok", "w-push")
    ]


def test_pages_are_wrapped_and_never_null(pocket: Pocket) -> None:
    pocket.flow({"start": "a", "nodes": {"a": {"service": "sum"}}, "edges": []})
    page = pocket.get("/flows", page=1, page_size=1).json()
    assert len(page["data"]) == 1
    assert page["total"] >= 1
    assert (page["page"], page["size"]) == (1, 1)
    assert pocket.get("/tasks", status="canceling").json()["data"] == []
    assert pocket.get("/flows/version", flow_id="flow-none").json() == []


def test_bad_input_is_refused_with_a_reason_and_changes_nothing(pocket: Pocket) -> None:
    before = pocket.get("/flows").json()["total"]
    answer = pocket.http.post(pocket.prefix + "/flows", content=b"garbage")
    assert answer.status_code == 400
    assert "JSON" in answer.json()["error"]
    assert pocket.post("/flows", {"Name": ""}).status_code == 400
    assert pocket.get("/flows").json()["total"] == before
    assert pocket.get("/tasks/get", id="task-none00").status_code == 404
    assert pocket.post("/tasks", {"FlowID": "flow-none"}).status_code == 404
    assert pocket.post("/tasks/cancel?id=task-none00").status_code == 404


def test_a_bad_definition_lists_all_its_problems(pocket: Pocket) -> None:
    flow_id = pocket.post("/flows", {"Name": "bad"}).json()["id"]
    definition = {"start": "x", "nodes": {"a": {"service": "s", "max_retries": "3"}}, "edges": []}
    body = {"FlowID": flow_id, "DefinitionJSON": json.dumps(definition)}
    answer = pocket.post("/flows/version", body)
    assert answer.status_code == 422
    paths = {problem["path"] for problem in answer.json()["problems"]}
    assert {"start", "nodes.a.max_retries"} <= paths


def test_all_spellings_of_a_field_are_understood(pocket: Pocket) -> None:
    for name in ("Name", "name", "NAME"):
        assert pocket.post("/flows", {name: "spelled"}).status_code == 200
    definition = json.dumps({"start": "a", "nodes": {"a": {"service": "sum"}}, "edges": []})
    flow_id = pocket.post("/flows", {"Name": "spelled"}).json()["id"]
    for number, body in enumerate(
        (
            {"FlowID": flow_id, "DefinitionJSON": definition},
            {"flowid": flow_id, "definitionjson": definition},
            {"flow_id": flow_id, "definition_json": definition},
        ),
        start=1,
    ):
        answer = pocket.post("/flows/version", {**body, "Version": number})
        assert answer.status_code == 200, answer.text


def test_a_queue_job_waits_for_its_worker_and_resumes_at_once(pocket: Pocket) -> None:
    node = {"params": {"k": 1}, "prep": {"input_key": "$params.x"}}
    task_id = pocket.task(pocket.flow(queue_flow("q-basic", **node)), {"x": [1]})
    pocket.until(task_id, "waiting_queue")
    job = poll(pocket, "q-basic")
    assert job["service"] == "q-basic"
    assert job["task_id"] == task_id
    assert json.loads(job["input_json"])["input"] == [1]
    assert job["input"]["params"] == {"k": 1, "x": [1]}
    began = time.monotonic()
    assert complete(pocket, job, {"y": 2}, token=job["token"]).json() == {"ok": "1"}
    task = pocket.until(task_id, "completed")
    assert time.monotonic() - began < 1.0
    assert json.loads(task["shared_json"]) == {"out": {"y": 2}}


def test_completing_twice_is_one_result_and_a_late_one_is_refused(pocket: Pocket) -> None:
    task_id = pocket.task(pocket.flow(queue_flow("q-twice")))
    job = poll(pocket, "q-twice")
    assert complete(pocket, job, 1).status_code == 200
    assert complete(pocket, job, 2).status_code == 200
    task = pocket.until(task_id, "completed")
    assert json.loads(task["shared_json"]) == {"out": 1}
    assert complete(pocket, job, None, error="late").status_code == 409
    assert pocket.get("/tasks/get", id=task_id).json()["status"] == "completed"
    assert complete(pocket, {"id": "q-unknown~a.1@1"}, 1).status_code in (404, 409)
    assert complete(pocket, job, 1, token="forged").status_code == 409


def test_an_expired_claim_goes_to_another_worker(pocket: Pocket) -> None:
    task_id = pocket.task(pocket.flow(queue_flow("q-expire")))
    first = poll(pocket, "q-expire", "dead")
    second = poll(pocket, "q-expire", "alive")
    assert second["id"] != first["id"]
    assert complete(pocket, first, "stale").status_code == 409
    assert complete(pocket, second, "fresh").status_code == 200
    task = pocket.until(task_id, "completed")
    assert json.loads(task["shared_json"]) == {"out": "fresh"}


def test_heartbeats_keep_a_claim_past_its_lease(pocket: Pocket) -> None:
    task_id = pocket.task(pocket.flow(queue_flow("q-beat")))
    job = poll(pocket, "q-beat")
    until = time.monotonic() + 2 * LEASE_S
    while time.monotonic() < until:
        time.sleep(LEASE_S / 10)
        answer = pocket.post("/queue/heartbeat", {"queue_id": job["id"], "worker_id": "w1"})
        assert answer.status_code == 200, answer.text
    assert complete(pocket, job, "kept").status_code == 200
    assert json.loads(pocket.until(task_id, "completed")["shared_json"]) == {"out": "kept"}


def test_a_foreach_over_a_queue_makes_one_job_per_item(pocket: Pocket) -> None:
    definition = queue_flow(
        "q-each",
        kind="foreach",
        prep={"input_key": "$params.items"},
        parallel_mode="concurrent",
    )
    task_id = pocket.task(pocket.flow(definition), {"items": [1, 2, 3]})
    jobs: list[dict[str, Any]] = []
    while len(jobs) < 3:
        jobs += poll(pocket, "q-each", max=3)["tasks"]
    assert len({job["id"] for job in jobs}) == 3
    for job in jobs:
        complete(pocket, job, job["input"]["input"] * 10)
    task = pocket.until(task_id, "completed")
    assert json.loads(task["shared_json"]) == {"out": [10, 20, 30]}
    runs = pocket.get("/tasks/runs", task_id=task_id).json()
    assert sorted(run["branch_id"] for run in runs if run["branch_id"]) == ["0", "1", "2"]


def test_a_loop_over_a_queue_node_runs_anew_at_each_visit(pocket: Pocket) -> None:
    definition = {
        "start": "work",
        "nodes": {
            "work": {
                "exec_type": "queue",
                "service": "q-loop",
                "post": {"output_key": "last", "action_key": "next"},
            },
            "done": {"kind": "timer", "params": {"delay_ms": 0}},
        },
        "edges": [
            {"from": "work", "action": "again", "to": "work"},
            {"from": "work", "action": "stop", "to": "done"},
        ],
    }
    task_id = pocket.task(pocket.flow(definition))
    for turn in range(3):
        job = poll(pocket, "q-loop")
        complete(pocket, job, {"next": "again" if turn < 2 else "stop", "turn": turn})
    task = pocket.until(task_id, "completed")
    assert json.loads(task["shared_json"])["last"]["turn"] == 2
    runs = pocket.get("/tasks/runs", task_id=task_id).json()
    assert [run["node_key"] for run in runs].count("work") == 3


def test_a_failed_queue_job_is_retried_as_its_node_says(pocket: Pocket) -> None:
    task_id = pocket.task(pocket.flow(queue_flow("q-retry", max_retries=1, wait_ms=10)))
    first = poll(pocket, "q-retry")
    complete(pocket, first, None, error="boom")
    second = poll(pocket, "q-retry")
    complete(pocket, second, "fine")
    assert json.loads(pocket.until(task_id, "completed")["shared_json"]) == {"out": "fine"}
    runs = pocket.get("/tasks/runs", task_id=task_id).json()
    assert [(run["status"], run["error_text"]) for run in runs] == [("error", "boom"), ("ok", "")]


def test_runtime_keys_show_while_a_run_waits_and_go_with_it(pocket: Pocket) -> None:
    node = {"kind": "wait_event", "params": {"signal_key": "$shared.flag"}}
    node["post"] = {"output_key": "flag"}
    task_id = pocket.task(pocket.flow({"start": "w", "nodes": {"w": node}, "edges": []}))
    task = pocket.until(task_id, "running")
    assert "we:w" in json.loads(task["shared_json"])["_rt"]
    assert pocket.post("/tasks/signal", {"task_id": task_id, "key": "flag", "value": 1}).json() == {
        "ok": "1"
    }
    assert json.loads(pocket.until(task_id, "completed")["shared_json"]) == {"flag": 1}


def test_signals_sent_at_once_are_all_kept(pocket: Pocket) -> None:
    node = {"kind": "wait_event", "params": {"signal_key": "$shared.go"}}
    task_id = pocket.task(pocket.flow({"start": "w", "nodes": {"w": node}, "edges": []}))
    failures: list[str] = []

    def send(who: int) -> None:
        with httpx.Client(base_url=pocket.http.base_url, headers=pocket.http.headers) as http:
            for number in range(25):
                body = {"task_id": task_id, "key": f"k{who}-{number}", "value": number}
                answer = http.post(pocket.prefix + "/tasks/signal", json=body)
                if answer.status_code != 200:
                    failures.append(answer.text)

    threads = [threading.Thread(target=send, args=(who,)) for who in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    pocket.post("/tasks/signal", {"task_id": task_id, "key": "go", "value": True})
    shared = json.loads(pocket.until(task_id, "completed")["shared_json"])
    assert len(shared) == 8 * 25 + 1


def test_cancel_ends_a_waiting_task_and_refuses_a_finished_one(pocket: Pocket) -> None:
    node = {"kind": "approval", "params": {"approval_key": "$shared.ok"}}
    task_id = pocket.task(pocket.flow({"start": "w", "nodes": {"w": node}, "edges": []}))
    assert pocket.post(f"/tasks/cancel?id={task_id}").json() == {"ok": "1"}
    task = pocket.until(task_id, "canceled")
    assert (task["current_node_key"], task["last_action"]) == ("", "canceled")
    assert pocket.post(f"/tasks/cancel?id={task_id}").status_code == 409
    assert pocket.get("/tasks/get", id=task_id).json()["status"] == "canceled"


@pytest.mark.parametrize(
    "node",
    [
        {"exec_type": "queue", "service": "nobody"},
        {"service": "nobody"},
        {"kind": "timer", "params": {"delay_ms": 60_000}},
        {"kind": "wait_event", "params": {"signal_key": "$shared.never"}},
    ],
)
def test_what_was_cancelled_before_any_attempt_is_a_node_run_too(
    pocket: Pocket, node: dict[str, Any]
) -> None:
    task_id = pocket.task(pocket.flow({"start": "a", "nodes": {"a": node}}))
    assert pocket.post(f"/tasks/cancel?id={task_id}").json() == {"ok": "1"}
    pocket.until(task_id, "canceled")
    [run] = pocket.get("/tasks/runs", task_id=task_id).json()
    assert (run["node_key"], run["status"], run["action"]) == ("a", "canceled", "canceled")
    assert run["attempt_no"] == 0


def test_keys_of_nodes_are_told_as_they_were_written(pocket: Pocket) -> None:
    call = {"exec_type": "queue", "service": "q-keys"}
    nodes = {
        "取/1": {"exec_type": "local_func", "func": "upper", "params": {"text": "x"}},
        "里 é": {"kind": "subflow", "subflow": {"start": "内", "nodes": {"内": call}}},
    }
    edges = [{"from": "取/1", "to": "里 é"}]
    task_id = pocket.task(pocket.flow({"start": "取/1", "nodes": nodes, "edges": edges}))
    job = poll(pocket, "q-keys")
    assert job["node_key"] == "里 é/内"
    task = pocket.get("/tasks/get", id=task_id).json()
    assert json.loads(task["shared_json"])["_rt"]["sf:里 é"]["curr"] == "内"
    assert task["current_node_key"] == "里 é"
    complete(pocket, job, 1)
    pocket.until(task_id, "completed")
    runs = pocket.get("/tasks/runs", task_id=task_id).json()
    assert [(run["node_key"], run["branch_id"]) for run in runs] == [("取/1", ""), ("里 é", "内")]


def test_cancelling_a_claimed_job_reaches_its_worker_and_nothing_revives_it(
    pocket: Pocket,
) -> None:
    task_id = pocket.task(pocket.flow(queue_flow("q-cancel")))
    job = poll(pocket, "q-cancel")
    pocket.post(f"/tasks/cancel?id={task_id}")
    beat = pocket.post("/queue/heartbeat", {"queue_id": job["id"], "worker_id": "w1"})
    assert beat.json()["cancel"] is True
    complete(pocket, job, "too late")
    assert pocket.until(task_id, "canceled")["status"] == "canceled"


def test_workers_register_report_load_and_are_allocated_by_it(pocket: Pocket) -> None:
    service = f"alloc{len(pocket.prefix)}"
    for name, load in (("busy", 5), ("idle", 1)):
        worker = f"{name}{pocket.prefix.strip('/')}"
        body = {"ID": worker, "URL": "http://127.0.0.1:9", "Services": [service], "Type": "http"}
        assert pocket.post("/workers/register", body).json() == {"ok": "1"}
        beat = {"ID": worker, "URL": "http://127.0.0.1:9", "Load": load}
        assert pocket.post("/heartbeat", beat).json() == {"ok": "1"}
    assert pocket.get("/workers/allocate", service=service).json()["id"].startswith("idle")
    listed = pocket.get("/workers/list", service=service).json()
    assert {row["load"] for row in listed} == {1, 5}
    assert pocket.get("/workers/allocate", service="nobody").status_code == 500
    assert pocket.post("/workers/heartbeat", {"ID": "stranger"}).status_code == 404


def test_a_push_worker_elsewhere_is_refused(pocket: Pocket) -> None:
    body = {"ID": "far", "URL": "http://192.0.2.1:80", "Services": ["x"], "Type": "http"}
    answer = pocket.post("/workers/register", body)
    assert answer.status_code == 403
    assert "--push-allow" in answer.json()["error"]


def test_options_is_answered_and_other_methods_are_refused(pocket: Pocket) -> None:
    answer = pocket.http.options(pocket.prefix + "/tasks")
    assert (answer.status_code, answer.content) == (204, b"")
    assert pocket.http.put(pocket.prefix + "/tasks").status_code == 405


def test_without_a_token_nothing_is_told(pocket: Pocket) -> None:
    with httpx.Client(base_url=pocket.http.base_url) as stranger:
        for method, path in (("GET", "/tasks"), ("POST", "/queue/poll"), ("GET", "/flows")):
            answer = stranger.request(method, pocket.prefix + path)
            assert answer.status_code == 401, path


def test_addresses_hold_no_token_and_web_pages_may_not_call_unless_a_setting_says_so(
    pocket: Pocket,
) -> None:
    tasks = f"{pocket.prefix}/tasks"
    with httpx.Client(base_url=pocket.http.base_url) as plain:
        assert plain.get(tasks, params={"token": TOKEN}).status_code == 401
        assert plain.get(f"/t/{TOKEN}{tasks}").status_code in (401, 404)
    page = {"Origin": "http://page.example"}
    for answer in (pocket.http.get(tasks, headers=page), pocket.http.options(tasks, headers=page)):
        assert "access-control-allow-origin" not in answer.headers


def test_run_once_says_that_nobody_holds_the_lease(pocket: Pocket) -> None:
    node = {"kind": "approval", "params": {"approval_key": "$shared.ok"}}
    task_id = pocket.task(pocket.flow({"start": "w", "nodes": {"w": node}, "edges": []}))
    answer = pocket.post(f"/tasks/run_once?id={task_id}")
    assert (answer.status_code, answer.json()) == (409, {"error": "lease_mismatch"})


def test_logs_are_what_was_sent_and_no_path_is_read(pocket: Pocket) -> None:
    task_id = pocket.task(pocket.flow(queue_flow("q-log")))
    job = poll(pocket, "q-log")
    complete(pocket, job, 1, log_path="/etc/passwd", log="all well")
    pocket.until(task_id, "completed")
    run = pocket.get("/tasks/runs", task_id=task_id).json()[0]
    assert pocket.get("/tasks/logs", run_id=run["id"]).json() == {"content": "all well"}
    assert "passwd" not in json.dumps(run)


def test_a_bound_token_says_nothing_of_other_workers_attempts(pocket: Pocket) -> None:
    service = f"bound-{pocket.prefix.strip('/')}"
    pocket.task(pocket.flow(queue_flow(service)))
    job = poll(pocket, service, worker="bound-owner")
    attempt = job["input"]["run_id"]
    for bound, expected in (("bound-thief", 403), ("bound-owner", 200)):
        body = {"name": bound, "role": "worker", "workers": bound}
        token = pocket.http.post("/api/v1/tokens", json=body).json()["token"]
        headers = {"Authorization": f"Bearer {token}"}
        given = {"run_id": attempt, "status": "running"}
        answer = pocket.post("/queue/update_run", given, headers=headers)
        assert answer.status_code == expected, answer.text
        nothing = {"run_id": "run-none", "status": "running"}
        assert pocket.post("/queue/update_run", nothing, headers=headers).status_code == 403
    complete(pocket, job, 1)


@pytest.mark.parametrize(
    "url", ["http://loc\talhost:1", "http://local\nhost", "http://localhost /"]
)
def test_an_address_that_reads_in_two_ways_is_refused(pocket: Pocket, url: str) -> None:
    body = {"ID": "two-ways", "URL": url, "Services": ["s"], "Type": "http"}
    assert pocket.post("/workers/register", body).status_code == 400
