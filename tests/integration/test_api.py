"""The native API: what it gives, what it refuses, and how it says so."""

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.integration.conftest import TOKEN, Served
from windlass.testing.processes import ServerProcess, started, worker_process


def wait_node(key: str = "flag") -> dict[str, Any]:
    node = {"kind": "wait_event", "params": {"signal_key": f"$shared.{key}"}}
    return {"start": "w", "nodes": {"w": {**node, "post": {"output_key": key}}}, "edges": []}


def approval_node() -> dict[str, Any]:
    node = {
        "kind": "approval",
        "params": {"approval_key": "$shared.ok", "prompt": "Ship it?"},
        "prep": {"input_key": "$params.what"},
        "post": {"output_key": "answer"},
    }
    return {"start": "ask", "nodes": {"ask": node}, "edges": []}


def failing_then(service: str) -> dict[str, Any]:
    """A step that fails on bad input, and one after it."""
    nodes = {
        "first": {"exec_type": "local_func", "func": "mul", "post": {"output_key": "one"}},
        "second": {"service": service, "post": {"output_key": "two"}},
    }
    edges = [{"from": "first", "action": "default", "to": "second"}]
    return {"start": "first", "nodes": nodes, "edges": edges}


def test_a_problem_says_what_where_and_what_next(served: Served) -> None:
    answer = served.http.post(
        "/api/v1/flows/bad/versions",
        json={"definition": {"start": "a", "nodes": {"a": {"kind": "nonsense"}}, "edges": []}},
    )
    assert answer.status_code == 422
    assert answer.headers["content-type"] == "application/problem+json"
    body = answer.json()
    assert body["status"] == 422
    assert body["problems"][0]["path"].startswith("nodes.a")
    assert served.http.get("/api/v1/flows/bad").status_code == 404


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"{", 400),
        (b"[]", 400),
        (b'{"flow": 1}', 400),
        (b'{"flow": "no-such-flow"}', 404),
        (b'{"flow": "x", "params": ' + b"[" * 5000 + b"]" * 5000 + b"}", 400),
        (b"\xff\xfe", 400),
    ],
)
def test_a_bad_body_gets_a_clear_error(served: Served, body: bytes, status: int) -> None:
    answer = served.http.post("/api/v1/runs", content=body)
    assert answer.status_code == status
    assert answer.json()["detail"]


def test_a_body_over_the_limit_is_refused_early(served: Served) -> None:
    answer = served.http.post("/api/v1/runs", content=b'{"flow":"' + b"x" * 17_000_000 + b'"}')
    assert answer.status_code == 413


def test_starting_twice_with_one_key_starts_once(served: Served) -> None:
    served.push("once", wait_node())
    headers = {"Idempotency-Key": f"k-{time.time_ns()}"}
    body = {"flow": "once", "params": {"a": 1}}
    answers: list[httpx.Response] = []

    def send() -> None:
        with httpx.Client(base_url=served.http.base_url, headers=served.http.headers) as http:
            answers.append(http.post("/api/v1/runs", json=body, headers=headers, timeout=30))

    threads = [threading.Thread(target=send) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {answer.status_code for answer in answers} == {202}
    assert len({answer.json()["id"] for answer in answers}) == 1
    assert [answer.json()["created"] for answer in answers].count(True) == 1
    other = served.http.post("/api/v1/runs", json={"flow": "once"}, headers=headers)
    assert other.status_code == 409


def test_pushing_the_same_text_again_changes_nothing(served: Served) -> None:
    first = served.http.post("/api/v1/flows/same/versions", json={"definition": wait_node()})
    again = served.http.post("/api/v1/flows/same/versions", json={"definition": wait_node()})
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json()["versionId"] == again.json()["versionId"]
    other = served.http.post("/api/v1/flows/same/versions", json={"definition": wait_node("b")})
    assert other.json()["version"] == 2
    listed = served.http.get("/api/v1/flows/same/versions").json()["items"]
    assert [item["version"] for item in listed] == [2, 1]


def test_pushing_at_the_same_moment_makes_one_flow(served: Served) -> None:
    answers: list[httpx.Response] = []

    def push(key: str) -> None:
        with httpx.Client(base_url=served.http.base_url, headers=served.http.headers) as http:
            body = {"definition": wait_node(key)}
            answers.append(http.post("/api/v1/flows/race/versions", json=body, timeout=30))

    threads = [threading.Thread(target=push, args=(f"k{number}",)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {answer.status_code for answer in answers} == {201}
    assert sorted(answer.json()["version"] for answer in answers) == [1, 2, 3, 4, 5, 6]
    found = served.http.get("/api/v1/flows", params={"q": "race"}).json()["items"]
    assert len(found) == 1


def test_a_checkpoint_is_answered_once(served: Served) -> None:
    served.push("ship", approval_node())
    run_id = served.start("ship", {"what": {"build": 7}})
    page = served.http.get("/api/v1/checkpoints", params={"state": "open", "run": run_id}).json()
    checkpoint = page["items"][0]
    assert (checkpoint["prompt"], checkpoint["show"]) == ("Ship it?", {"build": 7})
    path = f"/api/v1/checkpoints/{checkpoint['id']}/resolve"
    assert served.http.post(path, json={"answer": "approved", "note": "go"}).status_code == 200
    assert served.http.post(path, json={"answer": "rejected"}).status_code == 409
    run: Any = served.wait(run_id)
    assert (run["state"], run["action"]) == ("succeeded", "approved")
    assert run["shared"] == {"answer": "approved", "ok": "approved"}


def test_a_failed_task_is_retried_alone_and_the_run_goes_on(served: Served) -> None:
    served.push("retry-me", failing_then("sum"))
    run: Any = served.run("retry-me")
    assert run["state"] == "failed"
    assert run["error"]["node"] == "second"
    # The service still refuses its input, so the retry fails again, on a new attempt.
    answer = served.http.post(f"/api/v1/runs/{run['id']}/retry", json={})
    assert answer.status_code == 202, answer.text
    assert answer.json()["task"].endswith("second.2")
    again: Any = served.wait(run["id"])
    assert (again["state"], again["generation"]) == ("failed", 1)
    attempts = served.http.get(f"/api/v1/runs/{run['id']}/attempts").json()["items"]
    assert [a["state"] for a in attempts] == ["succeeded", "failed", "failed"]


def test_retry_from_lists_what_it_redoes_first(served: Served) -> None:
    served.push("redo", failing_then("transform"))
    run: Any = served.run("redo", {"x": 1})
    path = f"/api/v1/runs/{run['id']}/retry"
    listed = served.http.post(path, json={"task": "first", "from": True, "dryRun": True}).json()
    assert [task.rpartition("~")[2] for task in listed["redone"]] == ["second.2"]
    assert served.http.get(f"/api/v1/runs/{run['id']}").json()["generation"] == 0
    assert served.http.post(path, json={"task": "first", "from": True}).status_code == 202
    again: Any = served.wait(run["id"])
    assert again["generation"] == 1
    tasks = served.http.get(f"/api/v1/runs/{run['id']}/tasks").json()["items"]
    states = {task["id"].rpartition("~")[2]: task["state"] for task in tasks}
    assert states["first.1"] == "succeeded"
    assert states["second.2"] == "superseded"
    assert states["second.3"] == "failed"


def test_a_run_that_was_never_patched_has_no_revisions(served: Served) -> None:
    served.push("plain", failing_then("transform"))
    run: Any = served.run("plain", {"x": 1})
    listed = served.http.get(f"/api/v1/runs/{run['id']}/revisions")
    assert (listed.status_code, listed.json()["items"]) == (200, [])
    assert run["revision"] == 0


def test_why_names_what_a_run_waits_for(served: Served) -> None:
    served.push("why-signal", wait_node("key"))
    nobody = {"exec_type": "queue", "service": "nobody-serves-this"}
    served.push("why-queue", {"start": "a", "nodes": {"a": nobody}, "edges": []})
    signal = served.start("why-signal")
    queued = served.start("why-queue")
    line = served.http.get(f"/api/v1/runs/{signal}/why").json()["line"]
    assert 'waits for signal "key"' in line
    line = served.http.get(f"/api/v1/runs/{queued}/why").json()["line"]
    assert 'no live pull worker serves "nobody-serves-this"' in line
    for run_id in (signal, queued):
        served.http.post(f"/api/v1/runs/{run_id}/cancel", json={})


def test_events_stream_in_order_and_resume_where_they_were_cut(served: Served) -> None:
    served.push("stream", wait_node("go"))
    run_id = served.start("stream")
    seen: list[int] = []
    headers = {"Accept": "text/event-stream"}
    with served.http.stream("GET", f"/api/v1/runs/{run_id}/events", headers=headers) as stream:
        for line in stream.iter_lines():
            if line.startswith("id: "):
                seen.append(int(line[4:]))
                break
    served.http.post(f"/api/v1/runs/{run_id}/signal", json={"key": "go", "value": 1})
    headers["Last-Event-ID"] = str(seen[-1])
    types: list[str] = []
    with served.http.stream("GET", f"/api/v1/runs/{run_id}/events", headers=headers) as stream:
        for line in stream.iter_lines():
            if line.startswith("id: "):
                seen.append(int(line[4:]))
            if line.startswith("event: "):
                types.append(line[7:])
    assert types == ["signal.received", "end"]
    assert seen == [1, 2, 2]


def test_lists_have_filters_and_pages(served: Served) -> None:
    served.push("listed", wait_node())
    ids = [served.start("listed") for _ in range(5)]
    query = {"q": "flow:listed status:waiting", "limit": "2"}
    found: list[str] = []
    while True:
        page = served.http.get("/api/v1/runs", params=query).json()
        found += [item["id"] for item in page["items"]]
        if page["next"] is None:
            break
        query["cursor"] = page["next"]
    assert found == sorted(ids, reverse=True)
    assert served.http.get("/api/v1/runs", params={"q": "colour:red"}).status_code == 400
    dry = {"action": "cancel", "q": "flow:listed status:waiting", "dryRun": True}
    assert served.http.post("/api/v1/runs/bulk", json=dry).json()["matched"] == 5
    done = served.http.post("/api/v1/runs/bulk", json={**dry, "dryRun": False}).json()
    assert (done["done"], done["failed"]) == (5, [])


def test_status_and_results_show_together(served: Served) -> None:
    node = {"exec_type": "local_func", "func": "mul", "params": {"mul": 2}}
    node |= {"prep": {"input_key": "$params.n"}, "post": {"output_key": "out"}}
    served.push("together", {"start": "a", "nodes": {"a": node}, "edges": []})
    for number in range(30):
        run_id = served.start("together", {"n": number})
        while True:
            run = served.http.get(f"/api/v1/runs/{run_id}").json()
            if run["state"] == "succeeded":
                assert run["shared"] == {"out": number * 2}
                break
            assert run["shared"] == {}


def test_runs_of_flows_are_in_the_list_anybody_asks_for(served: Served) -> None:
    served.push("plain", {"start": "a", "nodes": {"a": {"kind": "approval"}}, "edges": []})
    run_id = served.start("plain")
    headers = {"Accept": "*/*"}
    listed = served.http.get("/api/v1/runs", headers=headers, params={"limit": 200}).json()
    assert run_id in [item["runId"] for item in listed["items"]]


def test_a_token_can_be_bound_to_one_worker(served: Served) -> None:
    body = {"name": "one", "role": "worker", "workers": "one"}
    made = served.http.post("/api/v1/tokens", json=body).json()
    headers = {"Authorization": f"Bearer {made['token']}"}

    def refused(path: str, **body: Any) -> bool:
        answer = served.http.post(path, json=body, headers=headers)
        return answer.status_code == 403 and "for worker" in answer.text

    worker = {"transport": "pull", "services": ["x"]}
    own = {"id": "one", "capacity": 1, **worker}
    assert served.http.post("/api/v1/workers", json=own, headers=headers).is_success
    assert refused("/api/v1/workers", id="two", capacity=1, **worker)
    assert refused("/api/v1/workers/two/exchange", services=["x"], slots=1)
    assert refused("/api/workers/register", ID="two", Type="async", Services=["x"])
    assert refused("/api/workers/register", workerId="two", packages=["demo@1.0.0"])
    assert refused("/api/workers/heartbeat", ID="two")
    assert refused("/api/queue/poll", worker_id="two", services=["x"])
    told = served.http.post("/api/queue/complete", json={"queue_id": "q-x"}, headers=headers)
    assert told.status_code == 403
    assert "token that came with the task" in told.text
    bad = served.http.post("/api/v1/tokens", json={**body, "role": "viewer"})
    assert bad.status_code == 400


def test_a_certificate_has_one_token(served: Served) -> None:
    body = {"name": "certified", "role": "worker", "fingerprint": "0a" * 32}
    assert served.http.post("/api/v1/tokens", json=body).status_code == 201
    again = served.http.post("/api/v1/tokens", json={**body, "name": "again"})
    assert (again.status_code, "certified" in again.text) == (409, True)


def test_tokens_have_roles_and_can_be_revoked(served: Served) -> None:
    def as_role(token: str, method: str, path: str, **kwargs: Any) -> int:
        with httpx.Client(base_url=served.http.base_url) as http:
            headers = {"Authorization": f"Bearer {token}"}
            return http.request(method, path, headers=headers, **kwargs).status_code

    made = served.http.post("/api/v1/tokens", json={"name": "eve", "role": "viewer"}).json()
    assert as_role(made["token"], "GET", "/api/v1/runs") == 200
    assert as_role(made["token"], "POST", "/api/v1/runs", json={"flow": "x"}) == 403
    assert as_role(made["token"], "GET", "/api/v1/tokens") == 403
    assert as_role("wl_nonsense", "GET", "/api/v1/runs") == 401
    assert "eve" in served.http.get("/api/v1/tokens").text
    assert made["token"] not in served.http.get("/api/v1/tokens").text
    served.http.delete(f"/api/v1/tokens/{made['id']}")
    assert as_role(made["token"], "GET", "/api/v1/runs") == 401
    bad = served.http.post("/api/v1/tokens", json={"name": "x", "role": "emperor"})
    assert bad.status_code == 400


def test_an_error_says_the_same_to_readers_of_either_shape(served: Served) -> None:
    headers = {"X-Request-ID": "req-7"}
    for path in ("/api/v1/runs/nothing-like-it", "/api/v1/nowhere"):
        answer = served.http.get(path, headers=headers)
        found = answer.json()
        assert (answer.status_code, found["error"], found["title"]) == (
            404,
            "not_found",
            "Not found",
        )
        assert found["message"] == found["detail"]
        assert found["requestId"] == "req-7"
    plain = served.http.get("/api/v1/nowhere", headers={"X-Request-ID": "a b\t<c>"}).json()
    assert "requestId" not in plain


def test_the_api_describes_itself(served: Served) -> None:
    document = served.http.get("/api/v1/openapi.json").json()
    assert document["openapi"] == "3.1.0"
    assert "post" in document["paths"]["/api/v1/runs"]
    metrics = served.http.get("/metrics").text
    assert "windlass_runs{" in metrics


@pytest.fixture
def open_server(tmp_path: Path) -> Iterator[ServerProcess]:
    """A server without tokens, on loopback."""
    with ServerProcess(f"sqlite:///{tmp_path / 'open.db'}", "--no-auth") as server:
        assert isinstance(server, ServerProcess)
        yield server


def test_a_server_without_tokens_serves_only_this_machine(open_server: ServerProcess) -> None:
    url = f"{open_server.url}/api/v1/runs"
    assert httpx.get(url).status_code == 200
    assert httpx.get(url, headers={"Host": "evil.example"}).status_code == 403
    assert httpx.get(url, headers={"Origin": "http://evil.example"}).status_code == 403
    assert httpx.get(url, headers={"Origin": open_server.url}).status_code == 200


def test_an_api_process_alone_reads_but_refuses_to_start_runs(
    postgres_url: str, tmp_path: Path
) -> None:
    api = ServerProcess(postgres_url, "--admin-token", TOKEN, "--role", "api")
    control = ServerProcess(postgres_url, "--admin-token", TOKEN, "--role", "control,api")
    with started(api):
        found = Served(api, postgres_url)
        found.push("alone", wait_node())
        refused = found.http.post("/api/v1/runs", json={"flow": "alone"})
        assert refused.status_code == 503
        assert found.http.get("/api/v1/runs").status_code == 200
        with started(control):
            run_id = found.start("alone")
            found.http.post(f"/api/v1/runs/{run_id}/signal", json={"key": "flag", "value": 1})
            assert found.wait(run_id)["state"] == "succeeded"
        found.http.close()


def test_scripts_are_off_unless_allowed(open_server: ServerProcess) -> None:
    node = {"exec_type": "local_script", "script": {"cmd": "echo", "args": ["hi"]}}
    definition = {"start": "a", "nodes": {"a": node}, "edges": []}
    with httpx.Client(base_url=open_server.url) as http:
        http.post("/api/v1/flows/script/versions", json={"definition": definition})
        run_id = http.post("/api/v1/runs", json={"flow": "script"}).json()["id"]
        time.sleep(0.3)
        line = http.get(f"/api/v1/runs/{run_id}/why").json()["line"]
        assert "--allow-scripts" in line


def test_many_pollers_signals_and_cancels_at_once(postgres_url: str, tmp_path: Path) -> None:
    server = ServerProcess(
        postgres_url, "--admin-token", TOKEN, "--lease-s", "10", log=tmp_path / "log"
    )
    with started(server, worker_process("builtin", server.url, "pull", token=TOKEN)):
        found = Served(server, postgres_url)
        node = {"exec_type": "queue", "service": "crowd", "post": {"output_key": "out"}}
        found.push("crowd", {"start": "a", "nodes": {"a": node}, "edges": []})
        found.push("signals", wait_node("go"))
        jobs = [found.start("crowd") for _ in range(300)]
        waits = [found.start("signals") for _ in range(8)]
        cancelled = set(jobs[::10])
        problems: list[str] = []
        done: set[str] = set()
        lock = threading.Lock()

        def client() -> httpx.Client:
            return httpx.Client(base_url=server.url, headers=found.http.headers, timeout=30)

        def poller(name: str) -> None:
            with client() as http:
                while len(done) + len(cancelled) < len(jobs):
                    body = {"worker_id": name, "services": ["crowd"], "wait_ms": 500}
                    answer = http.post("/queue/poll", json=body)
                    if answer.status_code == 204:
                        continue
                    if answer.status_code != 200:
                        problems.append(answer.text)
                        continue
                    job = answer.json()
                    result = {"queue_id": job["id"], "result": job["task_id"]}
                    reply = http.post("/queue/complete", json=result)
                    run_id = job["task_id"].removeprefix("task-")
                    if reply.status_code not in (200, 409):
                        problems.append(reply.text)
                    if run_id not in cancelled:
                        with lock:
                            done.add(run_id)

        def signaller(run_id: str) -> None:
            with client() as http:
                for number in range(40):
                    body = {"task_id": f"task-{run_id}", "key": f"k{number}", "value": number}
                    answer = http.post("/tasks/signal", json=body)
                    if answer.status_code != 200:
                        problems.append(answer.text)

        def canceller() -> None:
            with client() as http:
                for run_id in cancelled:
                    answer = http.post(f"/tasks/cancel?id=task-{run_id}")
                    if answer.status_code not in (200, 409):
                        problems.append(answer.text)

        threads = [threading.Thread(target=poller, args=(f"p{n}",)) for n in range(64)]
        threads += [threading.Thread(target=signaller, args=(run_id,)) for run_id in waits]
        threads.append(threading.Thread(target=canceller))
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert problems == []
        for run_id in jobs:
            state = found.wait(run_id)["state"]
            assert state == "succeeded" or (state == "cancelled" and run_id in cancelled)
        for run_id in waits:
            found.http.post(f"/api/v1/runs/{run_id}/signal", json={"key": "go", "value": 1})
            run: Any = found.wait(run_id)
            assert {f"k{n}": n for n in range(40)}.items() <= run["shared"].items()
        found.http.close()
