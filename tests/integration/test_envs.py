"""Environments over HTTP: leased with attempts, waited for, held over questions, given back."""

import base64
from typing import Any

import httpx

from tests.hand import HandWorker, named
from tests.integration.conftest import LEASE_S, Served
from tests.integration.test_plans import start
from windlass.testing.processes import wait_until

_RESOURCES = "/api/v1/envs/resources"
_SESSIONS = "/api/v1/envs/sessions"


class Hand(HandWorker):
    """A worker that also uses the environment of its attempts."""

    calls = 0

    def env(self, attempt: dict[str, Any], what: str, **more: Any) -> httpx.Response:
        self.calls += 1
        body = {**named(attempt), "callId": f"e{self.calls}", **more}
        return self._http.post(f"{self._at}/env/{what}", json=body)

    def write(self, attempt: dict[str, Any], path: str, text: str) -> httpx.Response:
        return self.env(attempt, "write", path=path, data=base64.b64encode(text.encode()).decode())

    def read(self, attempt: dict[str, Any], path: str) -> str:
        answer = self.env(attempt, "read", path=path)
        assert answer.status_code == 200, answer.text
        return base64.b64decode(answer.json()["data"]).decode()


def make(served: Served, name: str, **more: Any) -> dict[str, Any]:
    answer = served.http.post(_RESOURCES, json={"name": name, "kind": "noop", **more})
    assert answer.status_code == 201, answer.text
    found: dict[str, Any] = answer.json()
    return found


def flow(service: str, env: Any) -> dict[str, Any]:
    node = {"kind": "executor", "exec_type": "queue", "service": service, "env": env}
    return {"start": "a", "nodes": {"a": node}, "edges": []}


def resource(served: Served, name: str) -> dict[str, Any]:
    found: dict[str, Any] = served.http.get(f"{_RESOURCES}/{name}").json()
    return found


def session_of(served: Served, attempt: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = served.http.get(f"{_SESSIONS}/{attempt['env']['session_id']}").json()
    return found


def test_an_attempt_has_a_place_of_its_own_and_gives_it_back(served: Served) -> None:
    make(served, "own", config={"files": {"hello.txt": "hi"}})
    served.push("env-own", flow("env.own", "own"))
    worker = Hand(served.http, "env.own")
    run_id = served.start("env-own")
    taken = worker.take()
    env = taken["env"]
    assert (env["kind"], env["resource_name"], env["lease_epoch"]) == ("noop", "own", 1)
    assert resource(served, "own")["inUse"] == 1
    assert (
        'windlass_env_sessions{kind="noop",state="committed"}' in served.http.get("/metrics").text
    )
    assert worker.read(taken, "hello.txt") == "hi"
    assert worker.write(taken, "made.txt", "work").status_code == 200
    done = worker.env(taken, "exec", command=["cat", "made.txt"])
    assert done.status_code == 200, done.text
    assert (done.json()["code"], base64.b64decode(done.json()["out"])) == (0, b"work")
    missing = worker.env(taken, "read", path="nothing.txt")
    assert missing.status_code == 404
    worker.finish(taken, 1)
    assert served.wait(run_id)["state"] == "succeeded"
    wait_until(lambda: session_of(served, taken)["state"] == "released")
    over = session_of(served, taken)
    assert over["drift"] == "changed"
    assert [one["kind"] for one in over["snapshots"]] == ["pre_action", "post_action"]
    assert resource(served, "own")["inUse"] == 0
    actions = served.http.get(f"/api/v1/runs/{run_id}/actions").json()["items"]
    said = [(one["tool"], one["effect"], one["state"]) for one in actions]
    assert ("env.exec", "env_local_mutation", "completed") in said
    assert ("env.read", "env_local_read", "failed") in said
    late = worker.write(taken, "made.txt", "more")
    assert late.status_code == 409, late.text


def test_who_finds_no_room_waits_and_is_told_why(served: Served) -> None:
    make(served, "two", capacity=2)
    served.push("env-two", flow("env.two", {"resource": "two", "kind": "noop"}))
    worker = Hand(served.http, "env.two")
    runs = [served.start("env-two") for _ in range(4)]
    first, second = worker.take(), worker.take()
    assert worker._exchange(slots=1, waitMs=300)["attempts"] == []

    def whys() -> list[str]:
        return [served.http.get(f"/api/v1/runs/{run}/why").json()["line"] for run in runs]

    wait_until(lambda: sum("2 of 2 leased" in line for line in whys()) == 2)
    assert sorted(line for line in whys() if "leased" in line) == [
        '"a" waits for env "two" (2 of 2 leased, 0 ahead)',
        '"a" waits for env "two" (2 of 2 leased, 1 ahead)',
    ]
    assert resource(served, "two")["waiting"] == 2
    in_use = served.http.delete(f"{_RESOURCES}/two")
    assert in_use.status_code == 409, in_use.text
    worker.finish(first, 1)
    worker.finish(second, 1)
    for _ in range(2):
        worker.finish(worker.take(), 1)
    assert {served.wait(run)["state"] for run in runs} == {"succeeded"}
    wait_until(lambda: resource(served, "two")["inUse"] == 0)
    assert served.http.delete(f"{_RESOURCES}/two").status_code == 200


def test_fifty_at_once_share_three_places_and_none_is_left_out(served: Served) -> None:
    make(served, "three", capacity=3)
    served.push("env-three", flow("env.three", "three"))
    worker = Hand(served.http, "env.three")
    runs = [served.start("env-three") for _ in range(50)]
    first = [worker.take() for _ in range(3)]
    assert resource(served, "three")["inUse"] == 3
    order = [taken["runId"] for taken in first]
    for taken in first:
        worker.finish(taken, 1)
    while len(order) < 50:
        taken = worker.take()
        assert resource(served, "three")["inUse"] <= 3
        order.append(taken["runId"])
        worker.finish(taken, 1)
    late = max(abs(order.index(run) - at) for at, run in enumerate(runs))
    assert late <= 6, f"whoever came first goes first: {late} places late"
    wait_until(lambda: resource(served, "three")["inUse"] == 0)
    query: dict[str, str | int] = {"resource": "three", "state": "all", "limit": 200}
    sessions = served.http.get(_SESSIONS, params=query).json()["items"]
    times = [(one["createdAt"], 1) for one in sessions]
    times += [(one["releasedAt"], -1) for one in sessions]
    there = most = 0
    for _, change in sorted(times):
        there += change
        most = max(most, there)
    assert (len(sessions), most) == (50, 3)


def test_what_matters_more_gets_the_next_place(served: Served) -> None:
    make(served, "one")
    served.push("env-one", flow("env.one", "one"))
    worker = Hand(served.http, "env.one")
    served.start("env-one")
    first = worker.take()
    runs = [served.start("env-one", priority=priority) for priority in (0, 0, 5)]
    assert worker._exchange(slots=1, waitMs=200)["attempts"] == []
    order: list[str] = []
    for _ in runs:
        worker.finish(first, 1)
        first = worker.take()
        order.append(first["runId"])
    worker.finish(first, 1)
    assert order == [runs[2], runs[0], runs[1]], "then who came first"


def test_a_tenant_has_a_quota_over_all_its_places(served: Served) -> None:
    make(served, "many", capacity=10)
    served.push("env-many", flow("env.many", "many"))
    worker = Hand(served.http, "env.many")
    rule = {"pattern": "envs", "max": 1}
    assert served.http.put("/api/v1/limit-rules", json=rule).status_code == 200
    try:
        runs = [served.start("env-many") for _ in range(2)]
        taken = worker.take()
        assert worker._exchange(slots=1, waitMs=300)["attempts"] == []
        other = next(run for run in runs if run != taken["runId"])
        line = served.http.get(f"/api/v1/runs/{other}/why").json()["line"]
        assert "limit envs: 1 of 1 in use" in line
        worker.finish(taken, 1)
        worker.finish(worker.take(), 1)
    finally:
        served.http.delete("/api/v1/limit-rules", params={"pattern": "envs"})


def test_each_tenant_has_a_quota_of_its_own(served: Served) -> None:
    """Two tenants with a resource of one name each; one may have a single place at a time."""
    assert served.http.post("/api/v1/tenants", json={"name": "envy"}).status_code in (201, 409)
    worker = Hand(served.http, "env.shared")
    rule = {"pattern": "envs", "max": 1}
    both = ("default", "envy")

    def ask(tenant: str, method: str, path: str, **more: Any) -> httpx.Response:
        return served.http.request(method, path, headers={"Windlass-Tenant": tenant}, **more)

    for tenant in both:
        body = {"name": "shared", "kind": "noop", "capacity": 5}
        assert ask(tenant, "POST", _RESOURCES, json=body).status_code == 201
        definition = {"definition": flow("env.shared", "shared")}
        answer = ask(tenant, "POST", "/api/v1/flows/env-shared/versions", json=definition)
        assert answer.status_code == 201, answer.text
    assert ask("envy", "PUT", "/api/v1/limit-rules", json=rule).status_code == 200
    begun = {
        ask(tenant, "POST", "/api/v1/runs", json={"flow": "env-shared"}).json()["id"]: tenant
        for tenant in both * 2
    }
    taken = [worker.take() for _ in range(3)]
    assert sorted(begun[one["runId"]] for one in taken) == ["default", "default", "envy"]
    assert worker._exchange(slots=1, waitMs=300)["attempts"] == []
    [waits] = begun.keys() - {one["runId"] for one in taken}
    line = ask("envy", "GET", f"/api/v1/runs/{waits}/why").json()["line"]
    assert "limit envs: 1 of 1 in use" in line
    seen = {tenant: ask(tenant, "GET", _SESSIONS).json()["items"] for tenant in both}
    mine = [len([one for one in seen[t] if one["resource"] == "shared"]) for t in both]
    assert mine == [2, 1], "and nobody sees another's"
    for one in taken:
        worker.finish(one, 1)
    worker.finish(worker.take(), 1)
    for run_id, tenant in begun.items():
        path, query = f"/api/v1/runs/{run_id}", {"waitMs": 20_000}
        assert ask(tenant, "GET", path, params=query).json()["state"] == "succeeded"


def test_a_lost_attempt_loses_its_place_as_well(served: Served) -> None:
    make(served, "lost")
    served.push("env-lost", flow("env.lost", "lost"))
    worker = Hand(served.http, "env.lost")
    run_id = served.start("env-lost")
    first = worker.take()
    worker.write(first, "a.txt", "first")
    wait_until(lambda: session_of(served, first)["state"] == "released", LEASE_S * 5)
    second = worker.take()
    assert second["env"]["session_id"] != first["env"]["session_id"]
    assert worker.write(first, "a.txt", "again").status_code == 409
    assert worker.env(second, "read", path="a.txt").status_code == 404, "a fresh place"
    worker.finish(second, 1)
    assert served.wait(run_id)["state"] == "succeeded"


def test_a_place_is_held_while_a_person_thinks(served: Served) -> None:
    make(served, "held")
    worker = Hand(served.http, "env.held")
    needs = {"required": True, "kind": "noop", "resource_name": "held"}
    tasks = [{"alias": "a", "goal": "ask", "env_preconditions": needs}]
    run_id = start(served, goal="ask", plan={"tasks": tasks}, workerProfile="env.held")
    first = worker.take()
    assert first["input"]["env"]["session_id"] == first["env"]["session_id"]
    worker.write(first, "notes.txt", "as far as page 3")
    asked = {
        "question": "Go on?",
        "options": [{"id": "yes", "label": "Yes"}, {"id": "no", "label": "No"}],
        "resume_policy": {"resume_mode": "resume_held_env"},
    }
    worker.finish(first, {"status": "waiting", "summary": "?", "checkpoint": asked})
    assert session_of(served, first)["state"] == "held"
    assert worker.write(first, "notes.txt", "stale").status_code == 409
    found = served.http.get("/api/v1/checkpoints", params={"run": run_id}).json()["items"]
    [item] = [each for each in found if each["runId"] == run_id]
    answer = served.http.post(f"/api/v1/checkpoints/{item['id']}/resolve", json={"answer": "yes"})
    assert answer.status_code == 200, answer.text
    second = worker.take()
    assert second["env"]["session_id"] == first["env"]["session_id"]
    assert second["env"]["lease_epoch"] == 2
    assert worker.read(second, "notes.txt") == "as far as page 3"
    assert worker.write(first, "notes.txt", "stale").status_code == 409
    worker.finish(second, {"status": "completed", "summary": "done"})
    assert served.wait(run_id)["state"] == "succeeded"
    wait_until(lambda: session_of(served, first)["state"] == "released")


def test_what_failed_is_kept_for_a_look(served: Served) -> None:
    make(served, "kept")
    served.push("env-kept", flow("env.kept", {"resource": "kept", "keep_failed_s": 600}))
    worker = Hand(served.http, "env.kept")
    run_id = served.start("env-kept")
    taken = worker.take()
    at = f"{_SESSIONS}/{taken['env']['session_id']}"
    worker.write(taken, "trace.txt", "what went wrong")
    assert served.http.post(f"{at}/release", json={}).status_code == 409, "an attempt has it"
    worker.fail(taken, "no")
    assert served.wait(run_id)["state"] == "failed"
    assert session_of(served, taken)["state"] == "kept"
    look = served.http.post(f"{at}/exec", json={"command": ["cat", "trace.txt"]})
    assert look.status_code == 200, look.text
    assert base64.b64decode(look.json()["out"]) == b"what went wrong"
    assert served.http.post(f"{at}/snapshots").status_code == 201
    listed = served.http.get(_SESSIONS, params={"resource": "kept"}).json()["items"]
    assert [one["id"] for one in listed] == [taken["env"]["session_id"]]
    refused = served.http.delete(f"/api/v1/runs/{run_id}")
    assert refused.status_code == 409, refused.text
    assert served.http.post(f"{at}/release", json={"reason": "seen"}).status_code == 200
    wait_until(lambda: session_of(served, taken)["state"] == "released")
    assert session_of(served, taken)["reason"] == "seen"
    assert served.http.delete(f"/api/v1/runs/{run_id}").status_code in (200, 204)


def test_a_place_that_cannot_be_made_fails_its_task_in_plain_words(served: Served) -> None:
    make(served, "broken", config={"failures": {"allocate": "no such image: nope"}})
    served.push("env-broken", flow("env.broken", "broken"))
    Hand(served.http, "env.broken")._exchange(slots=1, waitMs=0)
    run_id = served.start("env-broken")
    Hand(served.http, "env.broken")._exchange(slots=1, waitMs=500)
    ended = served.wait(run_id)
    assert ended["state"] == "failed"
    assert "no such image: nope" in str(ended)
    wait_until(lambda: resource(served, "broken")["inUse"] == 0)


def test_a_slow_place_delays_nobody_else(served: Served) -> None:
    make(served, "slow", config={"delays": {"allocate": 30}})
    make(served, "quick")
    served.push("env-slow", flow("env.pace", "slow"))
    served.push("env-quick", flow("env.pace", "quick"))
    worker = Hand(served.http, "env.pace")
    slow = served.start("env-slow")
    assert worker._exchange(slots=1, waitMs=300)["attempts"] == []
    quick = served.start("env-quick")
    taken = worker.take()
    assert taken["runId"] == quick
    worker.finish(taken, 1)
    assert served.wait(quick, 10)["state"] == "succeeded"
    line = served.http.get(f"/api/v1/runs/{slow}/why").json()["line"]
    assert 'waits for env "slow": its noop is being made' in line
    served.http.post(f"/api/v1/runs/{slow}/cancel", json={})
    assert served.wait(slow)["state"] == "cancelled"
    wait_until(lambda: resource(served, "slow")["inUse"] == 0)


def test_resources_are_checked_before_they_are_made(served: Served) -> None:
    def refused(status: int, **body: Any) -> str:
        answer = served.http.post(_RESOURCES, json=body)
        assert answer.status_code == status, answer.text
        return answer.text

    assert "one of container" in refused(400, name="x", kind="spaceship")
    assert "capacity" in refused(400, name="x", kind="noop", capacity=0)
    assert "letters" in refused(400, name="a b", kind="noop")
    assert "files" in refused(400, name="x", kind="noop", config={"file": {}})
    assert "no driver" in refused(503, name="x", kind="desktop")
    missing = served.http.post(_RESOURCES, json={"name": "x", "kind": "container"})
    told = missing.json()
    assert (missing.status_code, told["error"]) == (503, "not_installed")
    assert "windlass env-host" in told["detail"]
    assert "podman" in told["detail"]
    assert "retryable" not in told, "time does not help"
    assert "retry-after" not in missing.headers
    make(served, "known", metadata={"team": "a"})
    assert "already" in refused(409, name="known", kind="noop")
    changed = served.http.patch(f"{_RESOURCES}/known", json={"capacity": 7})
    assert changed.status_code == 200, changed.text
    assert (changed.json()["capacity"], changed.json()["metadata"]) == (7, {"team": "a"})
    assert served.http.get(f"{_RESOURCES}/unknown").status_code == 404
    kinds = {one["kind"]: one for one in served.http.get("/api/v1/envs/kinds").json()["items"]}
    assert (kinds["noop"]["missing"], kinds["noop"]["lacks"]) == ("", None)
    assert "podman" in kinds["container"]["missing"]
    lacks = kinds["container"]["lacks"]
    assert (lacks["code"], lacks["values"]["kind"]) == ("env.no_runtime", "container")
    known = served.http.get(f"{_RESOURCES}/known").json()
    assert (known["missing"], known["lacks"]) == ("", None)


def test_memoh_s_surface_has_the_same_resources(served: Served) -> None:
    at = "/orchestration/env-resources"
    body = {"kind": "noop", "name": "memoh", "capacity": 2, "config": {}, "metadata": {"a": 1}}
    made = served.http.post(at, json=body)
    assert made.status_code == 201, made.text
    one = made.json()
    assert (one["status"], one["capacity"], one["metadata"]) == ("active", 2, {"a": 1})
    assert "memoh" in [row["name"] for row in served.http.get(at).json()["items"]]
    patched = served.http.patch(f"{at}/{one['id']}", json={"status": "disabled"})
    assert (patched.json()["status"], patched.json()["capacity"]) == ("disabled", 2)
    assert served.http.post(at, json={**body, "name": "web", "kind": "browser"}).status_code == 503
    assert served.http.delete(f"{at}/{one['id']}").status_code == 204
    assert served.http.get(f"{at}/{one['id']}").status_code == 404


def test_images_are_jobs_that_tell_how_they_go(served: Served) -> None:
    at = "/api/v1/envs/images"

    def over(name: str) -> bool:
        return served.http.get(f"{at}/{name}").json()["status"] in ("ready", "failed")

    text = {"good": "FROM a\nRUN true", "bad": "FROM a\nRUN false"}
    for name, dockerfile in text.items():
        body = {"name": name, "sourceType": "dockerfile", "dockerfile": dockerfile}
        assert served.http.post(at, json=body).status_code == 201
        assert served.http.post(at, json=body).status_code == 409
        wait_until(lambda name=name: over(name))
    good, bad = (served.http.get(f"{at}/{name}").json() for name in text)
    assert (good["status"], good["log"]) == ("ready", "step 1: FROM a\nstep 2: RUN true")
    assert (bad["status"], bad["error"]) == ("failed", "step 2 failed with 1: RUN false")
    assert served.http.post(at, json={"name": "none"}).status_code == 400
    memoh = served.http.get("/orchestration/container-images").json()["items"]
    assert {"good", "bad"} <= {row["name"] for row in memoh}


def test_a_plan_may_name_only_what_is_there(served: Served) -> None:
    make(served, "there")
    needs = [
        {"required": True, "resource_name": "nowhere"},
        {"required": True, "resource_name": "there", "kind": "browser"},
    ]
    tasks = [
        {"alias": f"t{n}", "goal": "x", "env_preconditions": need} for n, need in enumerate(needs)
    ]
    run_id = start(served, goal="x", plan={"tasks": tasks})
    ended = served.wait(run_id)
    assert ended["state"] == "failed"
    text = str(ended)
    assert 'there is no "nowhere"' in text
    assert '"there" is a noop' in text
