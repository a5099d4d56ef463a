"""Bulk jobs: done once for each run, whoever dies; watched, stopped, and told in the audit."""

from pathlib import Path
from typing import Any

import httpx

from tests.integration.conftest import TOKEN, Served
from tests.integration.test_api import approval_node, wait_node
from windlass.testing.processes import ServerProcess, wait_until

NATIVE = {"Accept": "application/vnd.windlass+json, application/json"}


def job_of(http: httpx.Client, **body: Any) -> str:
    answer = http.post("/api/v1/bulk", json=body)
    assert answer.status_code == 202, answer.text
    return str(answer.json()["id"])


def ended(http: httpx.Client, job: str, timeout_s: float = 60) -> dict[str, Any]:
    def found() -> dict[str, Any] | None:
        seen: dict[str, Any] = http.get(f"/api/v1/bulk/{job}").json()
        return seen if seen["state"] != "working" else None

    seen: dict[str, Any] = wait_until(found, timeout_s, 0.1)
    return seen


def start_many(http: httpx.Client, flow: str, count: int, **params: Any) -> list[str]:
    answers = [
        http.post("/api/v1/runs", json={"flow": flow, "params": {**params, "n": n}})
        for n in range(count)
    ]
    return [str(answer.json()["id"]) for answer in answers]


def test_a_filter_s_runs_are_cancelled_and_the_audit_says_by_whom(served: Served) -> None:
    served.push("bulk-wait", wait_node("go"))
    ids = start_many(served.http, "bulk-wait", 3)
    counted = served.http.post(
        "/api/v1/bulk", json={"act": "cancel", "q": "flow:bulk-wait", "dryRun": True}
    )
    assert counted.json() == {"matched": 3}
    job = job_of(served.http, act="cancel", q="flow:bulk-wait")
    seen = ended(served.http, job)
    assert (seen["state"], seen["done"], seen["failed"], seen["left"]) == ("done", 3, 0, 0)
    assert {served.wait(id_)["state"] for id_ in ids} == {"cancelled"}
    events = served.http.get("/api/v1/audit-events", params={"limit": 200}).json()["items"]
    lines = [row for row in events if row.get("action") == "run.cancel"]
    told = [row for row in lines if job in str(row)]
    assert len(told) == 3


def test_what_is_refused_is_told_with_its_reason_and_the_rest_is_done(served: Served) -> None:
    served.push("bulk-refused", wait_node("go"))
    [run] = start_many(served.http, "bulk-refused", 1)
    job = job_of(served.http, act="delete", ids=[run, "no-such-run-at-all"])
    seen = ended(served.http, job)
    assert (seen["done"], seen["failed"]) == (0, 2)
    reasons = {one["id"]: one["detail"] for one in seen["refused"]}
    assert "cancel it first" in reasons[run]
    ended(served.http, job_of(served.http, act="cancel", ids=[run, run]))
    served.wait(run)
    again = ended(served.http, job_of(served.http, act="delete", ids=[run]))
    assert (again["total"], again["done"]) == (1, 1)
    assert served.http.get(f"/api/v1/runs/{run}").status_code == 404


def test_questions_of_many_runs_are_answered_alike(served: Served) -> None:
    served.push("bulk-ask", approval_node())
    ids = start_many(served.http, "bulk-ask", 3, what="x")
    asked = {"q": "flow:bulk-ask status:waiting"}
    wait_until(lambda: len(served.http.get("/api/v1/runs", params=asked).json()["items"]) == 3)
    job = job_of(served.http, act="answer", q="flow:bulk-ask", answer="approved", note="all fine")
    assert ended(served.http, job)["done"] == 3
    assert {served.wait(id_)["state"] for id_ in ids} == {"succeeded"}


def test_a_job_needs_runs_to_act_on(served: Served) -> None:
    for body in (
        {"act": "cancel"},
        {"act": "cancel", "q": "flow:x", "ids": ["y"]},
        {"act": "explode", "q": "flow:x"},
        {"act": "answer", "q": "flow:x"},
        {"act": "cancel", "q": "flow:there-is-no-such-flow"},
    ):
        assert served.http.post("/api/v1/bulk", json=body).status_code in (400, 422), body
    assert served.http.get("/api/v1/bulk/none").status_code == 404


def test_a_server_killed_halfway_loses_no_run_and_does_none_twice(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    server = ServerProcess(f"sqlite:///{tmp_path}/w.db", "--admin-token", TOKEN, log=log)
    headers = {"Authorization": f"Bearer {TOKEN}", **NATIVE}
    with server, httpx.Client(base_url=server.url, headers=headers, timeout=30) as http:
        http.post("/api/v1/flows/many/versions", json={"definition": wait_node("go")})
        started = start_many(http, "many", 120)
        job = job_of(http, act="rerun", q="flow:many")
        wait_until(lambda: http.get(f"/api/v1/bulk/{job}").json()["done"] > 0, every_s=0.001)
        server.kill()
        server.start()
        halfway = http.get(f"/api/v1/bulk/{job}").json()
        assert halfway["left"] > 0, "it was killed before it was done"
        seen = ended(http, job)
        assert (seen["done"], seen["failed"], seen["left"]) == (120, 0, 0)
        matched = http.post(
            "/api/v1/bulk", json={"act": "cancel", "q": "flow:many", "dryRun": True}
        )
        assert matched.json() == {"matched": 2 * len(started)}


def test_a_stopped_job_leaves_the_rest(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    server = ServerProcess(f"sqlite:///{tmp_path}/w.db", "--admin-token", TOKEN, log=log)
    headers = {"Authorization": f"Bearer {TOKEN}", **NATIVE}
    with server, httpx.Client(base_url=server.url, headers=headers, timeout=30) as http:
        http.post("/api/v1/flows/many/versions", json={"definition": wait_node("go")})
        start_many(http, "many", 200)
        job = job_of(http, act="rerun", q="flow:many")
        stopped = http.post(f"/api/v1/bulk/{job}/stop").json()
        assert stopped["state"] == "stopped"
        assert http.post(f"/api/v1/bulk/{job}/stop").status_code == 409
        listed = http.get("/api/v1/bulk", params={"state": "stopped"}).json()["items"]
        assert [one["id"] for one in listed] == [job]
        before = http.get(f"/api/v1/bulk/{job}").json()
        assert before["left"] > 0
