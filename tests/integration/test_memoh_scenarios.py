"""The scenarios that Memoh's own suites cover, on the surface that took their place.

| scenario | where it stands |
|---|---|
| tenant isolation | here, and every path of it in `test_tenants` |
| idempotency canonicalisation | here |
| stable paging and `as_of_seq` across models | here |
| replay and ack-loss of completion (worker, verifier) | here |
| stale worker takeover fences | `test_memoh_leases` |
| claimed and running lease expiry | `test_memoh_leases` |
| cancel converging from every attempt and verification phase | `test_memoh_leases` |
| barrier pause and resume of ready, running and verifying siblings | here |
| timeout default action | here |
| epoch drift on resume | `test_memoh_planning` |
| replan limits without epoch advance | `test_memoh_planning` |
| retry back-off delay | `test_memoh_planning` |
| join auto-complete | `test_memoh_planning` |
| planner transient exhaustion | `test_memoh_planning` |
| blackboard wipe and rebuild | `test_blackboard` |
"""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import httpx

from tests.integration.conftest import Served
from tests.integration.memoh import Hand, Plans, judged, unique
from tests.integration.test_orchestration import task

ARTIFACT = {"kind": "file", "uri": "x://1", "version": "1", "digest": "d"}


def of_tenant(served: Served, name: str) -> httpx.Client:
    """A client of a tenant of its own, new here."""
    made = served.http.post("/api/v1/tenants", json={"name": name})
    assert made.status_code in (200, 201), made.text
    body = {"name": f"{name}-token", "role": "admin", "tenant": name}
    token = served.http.post("/api/v1/tokens", json=body).json()["token"]
    head = {"Authorization": f"Bearer {token}"}
    return httpx.Client(base_url=str(served.http.base_url), headers=head, timeout=30)


def test_tenant_isolation(served: Served) -> None:
    profile, other = unique("isolated"), f"t{uuid4().hex[:8]}"
    ours, worker = Plans(served), Hand(served, profile)
    run_id = ours.start(profile, task("a"), bot_id=f"bot-{other}", idempotency_key=f"key-{other}")
    asked = ours.ask(run_id, "a")
    place = ours.tasks(run_id)["a"]["id"]
    with of_tenant(served, other) as http:
        theirs = Plans(served)
        theirs.http = http
        for path in ("snapshot", "tasks", "checkpoints", "artifacts", "events", "inspector"):
            theirs.get(f"/runs/{run_id}/{path}", 404)
        assert theirs.get("/runs")["items"] == []
        assert theirs.get(f"/bots/bot-{other}/runs")["items"] == []
        theirs.post(f"/runs/{run_id}/cancel", 404)
        theirs.post(f"/runs/{run_id}/hints", 404, hint={"kind": "context_update", "details": {}})
        for act in ("cancel", "retry"):
            theirs.post(f"/runs/{run_id}/tasks/{place}/{act}", 404)
        theirs.post(f"/checkpoints/{asked}/resolve", 404, mode="select_option", option_id="x")
        theirs.post(f"/runs/{run_id}/blackboard/rebuild", 404)
        mine = theirs.start(profile, task("a"), idempotency_key=f"key-{other}")
        assert mine != run_id, "a key is its tenant's own"
        assert [item["id"] for item in theirs.get("/runs")["items"]] == [mine]
        theirs.post(f"/runs/{mine}/cancel")
    assert ours.run(run_id)["lifecycle_status"] == "running"
    ours.choose(asked)
    worker.finish(worker.take(), {"n": 1})
    assert ours.until(run_id, "completed")["output"] == {"a": {"n": 1}}


def test_idempotency_canonicalisation(served: Served) -> None:
    at, profile, key = Plans(served), unique("canonical"), str(uuid4())
    plan = {"tasks": [task("a"), task("b", "a")]}
    first = {"goal": "one", "plan": plan, "worker_profile": profile, "input": {"n": 1, "m": 2}}
    made = at.post("/runs", 201, **first, idempotency_key=key)
    turned = {"input": {"m": 2, "n": 1}, **{name: first[name] for name in reversed(list(first))}}
    maps = dict.fromkeys(("source_metadata", "policies", "requested_control_policy"))
    for same in (
        turned,
        {**first, **maps, "output_schema": None},
        {**first, **{name: {} for name in maps}},
        {**first, "goal": "  one ", "bot_id": " "},
    ):
        assert at.post("/runs", 201, **same, idempotency_key=key) == made, same
    assert at.post("/runs", 201, **first, idempotency_key=f" {key} ") == made
    for other in ({"goal": "two"}, {"input": {"n": 1, "m": 3}}, {"input": {"n": "1", "m": 2}}):
        at.post("/runs", 409, **{**first, **other}, idempotency_key=key)

    run_id = made["run_id"]
    hint: dict[str, Any] = {"kind": "context_update", "details": {"a": 1, "b": [1, 2]}}
    at.post(f"/runs/{run_id}/hints", hint=hint, idempotency_key=key)
    turned_hint = {"details": {"b": [1, 2], "a": 1}, "kind": " context_update", "summary": ""}
    at.post(f"/runs/{run_id}/hints", hint=turned_hint, run_id=run_id.upper(), idempotency_key=key)
    at.post(f"/runs/{run_id}/hints", 409, hint={**hint, "summary": "more"}, idempotency_key=key)
    given = [e for e in at.get(f"/runs/{run_id}/events")["items"] if "hint" in e["type"]]
    assert len(given) == 1

    place = at.tasks(run_id)["a"]["id"]
    path = f"/runs/{run_id}/tasks/{place}/checkpoints"
    body = {"question": "Which?", "options": [{"id": "x", "kind": "choice", "label": "X"}]}
    asked = at.post(path, 201, **body, idempotency_key=key)["checkpoint"]["id"]
    again = {**body, "question": " Which? ", "metadata": None, "resume_policy": None}
    assert at.post(path, 201, **again, idempotency_key=key)["checkpoint"]["id"] == asked
    at.post(path, 409, **{**body, "blocks_run": True}, idempotency_key=key)
    chosen: dict[str, Any] = {"mode": "select_option", "option_id": "x", "idempotency_key": key}
    at.post(f"/checkpoints/{asked}/resolve", **chosen)
    at.post(f"/checkpoints/{asked}/resolve", **chosen, metadata=None, freeform_input="")
    at.post(f"/checkpoints/{asked}/resolve", 409, **{**chosen, "option_id": "y"})
    at.post(f"/runs/{run_id}/cancel", idempotency_key=key)


def test_stable_paging_and_as_of_seq_across_models(served: Served) -> None:
    at, profile, judge = Plans(served), unique("paged"), unique("paged-judge")
    worker, verifier = Hand(served, profile), Hand(served, judge)
    run_id = at.start(profile, task("a", **judged(judge)), task("b"), task("c"), task("d", "a"))
    for alias in "bc":
        at.ask(run_id, alias)
    began = at.run(run_id)["last_event_seq"]
    taken = worker.take()
    claimed = at.run(run_id)["last_event_seq"]
    checkpoints = at.get(f"/runs/{run_id}/checkpoints", limit=1)
    tasks = at.get(f"/runs/{run_id}/tasks", limit=3)
    more = [{**ARTIFACT, "uri": f"x://{number}"} for number in range(3)]
    worker.finish(taken, {"status": "completed", "summary": "made", "artifacts": more})
    verifier.finish(verifier.take(), {"verdict": "accepted"})
    for row in at.get(f"/runs/{run_id}/checkpoints")["items"]:
        at.choose(row["id"])
    artifacts = at.get(f"/runs/{run_id}/artifacts", limit=2)
    at.replan(run_id, task("a", **judged(judge)), task("z", "a"))

    rest = at.get(f"/runs/{run_id}/checkpoints", limit=1, after=checkpoints["next_after"])
    assert [row["status"] for row in (*checkpoints["items"], *rest["items"])] == ["open", "open"]
    assert rest["items"][0]["resolved_option_id"] == ""
    assert rest["next_after"] is None
    rest = at.get(f"/runs/{run_id}/tasks", limit=3, after=tasks["next_after"])
    seen = {row["alias"]: row["status"] for row in (*tasks["items"], *rest["items"])}
    assert seen == {
        "": "running",
        "a": "running",
        "b": "waiting_human",
        "c": "waiting_human",
        "d": "created",
    }
    rest = at.get(f"/runs/{run_id}/artifacts", limit=2, after=artifacts["next_after"])
    assert [row["uri"] for row in (*artifacts["items"], *rest["items"])] == [
        "x://0",
        "x://1",
        "x://2",
    ]
    for seq in (began, claimed):
        past = at.get(f"/runs/{run_id}/artifacts", as_of_seq=seq)
        assert past["items"] == [], "what an attempt was to make later is not there yet"
        run = at.get(f"/runs/{run_id}/snapshot", as_of_seq=seq)["run"]
        assert (run["planner_epoch"], run["last_event_seq"]) == (1, seq)
    assert at.run(run_id)["planner_epoch"] == 2
    assert set(at.statuses(run_id)) == {"a", "z"}
    for path in ("tasks", "checkpoints", "artifacts", "snapshot"):
        at.get(f"/runs/{run_id}/{path}", 400, as_of_seq=99_999)
    at.get(f"/runs/{run_id}/checkpoints", 400, after=checkpoints["next_after"], as_of_seq=began)
    at.post(f"/runs/{run_id}/cancel")


def test_replay_and_ack_loss_of_completion(served: Served) -> None:
    """Whoever does not hear that a result was taken hands it in again: it counts once."""
    at, profile, judge = Plans(served), unique("replayed"), unique("replayed-judge")
    worker, verifier = Hand(served, profile), Hand(served, judge)
    run_id = at.start(profile, task("a", **judged(judge)), task("b", "a"))
    work = worker.take()
    output = {"status": "completed", "summary": "made", "structured_output": {"n": 1, "m": 2.5}}
    assert worker.told(work, output) == "accepted"
    turned = {"structured_output": {"m": 2.5, "n": 1}, "summary": "made", "status": "completed"}
    assert worker.told(work, turned) in ("accepted", "duplicate")
    assert worker.told(work, {**output, "summary": "another"}) != "accepted"
    verdict = verifier.take()
    assert verdict["input"]["result"]["summary"] == "made"
    assert verifier.told(verdict, {"verdict": "accepted"}) == "accepted"
    assert verifier.told(verdict, {"verdict": "accepted"}) in ("accepted", "duplicate")
    assert verifier.told(verdict, {"verdict": "rejected"}) != "accepted"
    assert worker.told(work, output) in ("accepted", "duplicate"), "also after the verdict"
    last = worker.take()
    assert last["input"]["predecessors"][0]["structured_output"] == {"n": 1, "m": 2.5}
    worker.finish(last, {"done": True})
    at.until(run_id, "completed")
    seen = at.inspect(run_id)
    assert len(seen["results"]) == 2
    assert [row["verdict"] for row in seen["verifications"]] == ["accepted"]
    kinds = [event["type"] for event in seen["timeline"]]
    assert kinds.count("run.event.attempt.completed") == 2
    assert kinds.count("run.event.verdict.given") == 1


def test_barrier_pause_and_resume_of_ready_running_and_verifying_siblings(served: Served) -> None:
    at, profile, judge = Plans(served), unique("barred"), unique("barred-judge")
    worker, verifier = Hand(served, profile), Hand(served, judge)
    later = unique("barred-later")
    run_id = at.start(
        profile,
        task("asked", priority=1, worker_profile=later),
        task("ready", worker_profile=later),
        task("verifying", priority=4, **judged(judge)),
        task("judged", priority=3, **judged(judge)),
        task("running", priority=2),
        task("last", "asked", "ready", "verifying", "judged", "running"),
    )
    held = {}
    for _ in range(3):
        taken = worker.take()
        held[taken["input"]["task"]["alias"]] = taken
    assert set(held) == {"verifying", "judged", "running"}
    worker.finish(held["judged"], {"n": "judged"})
    verdict = verifier.take()
    worker.finish(held["verifying"], {"n": "verifying"})
    assert at.statuses(run_id)["verifying"] == "verifying"
    asked = at.ask(run_id, "asked", blocks_run=True)
    assert at.run(run_id)["lifecycle_status"] == "waiting_human"
    tasks = at.tasks(run_id)
    siblings = ("ready", "verifying", "judged", "running")
    assert {tasks[name]["status"] for name in siblings} == {"waiting_human"}
    assert {tasks[name]["waiting_scope"] for name in siblings} == {"run"}
    assert tasks["last"]["status"] == "created"
    second = at.ask(run_id, "ready", blocks_run=True)
    for hand in (worker, verifier, Hand(served, later)):
        assert hand.gets() == [], "nothing is handed out behind a barrier"
    assert worker.told(held["running"], {"n": "late"}) == "stale"
    assert verifier.told(verdict, {"verdict": "accepted"}) == "stale"
    assert at.statuses(run_id)["judged"] == "waiting_human"

    at.choose(second)
    assert at.run(run_id)["lifecycle_status"] == "waiting_human", "one barrier is left"
    at.choose(asked)
    assert at.run(run_id)["lifecycle_status"] == "running"
    found = at.statuses(run_id)
    assert [found[name] for name in siblings] == ["ready", "verifying", "verifying", "ready"]
    for _ in range(2):
        brief = verifier.take()
        done = brief["input"]["task"]["alias"]
        claim = brief["input"]["result"]["structured_output"]
        assert claim == {"n": done}, "the claim is the one there was"
        verifier.finish(brief, {"verdict": "accepted"})
    again = worker.take()
    assert again["input"]["task"]["alias"] == "running"
    worker.finish(again, {"n": "running"})
    other = Hand(served, later)
    for _ in range(2):
        other.finish(other.take(), {})
    worker.finish(worker.take(), {"end": 1})
    assert at.until(run_id, "completed")["output"] == {"last": {"end": 1}}
    seen = at.inspect(run_id)
    assert seen["summary"]["checkpoints_open"] == 0


def test_timeout_default_action(served: Served) -> None:
    at, profile = Plans(served), unique("silent")
    worker = Hand(served, profile)
    run_id = at.start(profile, task("a"), task("b"))
    soon = (datetime.now(UTC) + timedelta(seconds=0.7)).isoformat()
    at.ask(run_id, "a", 400, timeout_at="2026-01-31T12:00:00Z", default_action=None)
    default = {"mode": "select_option", "option_id": "y"}
    asked = at.ask(run_id, "a", timeout_at=soon, default_action=default, blocks_run=True)
    at.until(run_id, "running")
    [row] = at.get(f"/runs/{run_id}/checkpoints")["items"]
    assert (row["status"], row["resolved_option_id"]) == ("timed_out", "y")
    assert row["resolved_by"] == "system"
    at.choose(asked, want=409)
    briefs = {one["input"]["task"]["alias"]: one for one in (worker.take(), worker.take())}
    [told] = briefs["a"]["input"]["answers"]
    assert (told["option_id"], told["mode"]) == ("y", "select_option")
    assert briefs["b"]["input"]["answers"] == []
    for brief in briefs.values():
        worker.finish(brief, {})
    at.until(run_id, "completed")


def test_a_timeout_needs_a_default_action(served: Served) -> None:
    at = Plans(served)
    run_id = at.start(unique("silent"), task("a"))
    later = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
    at.ask(run_id, "a", 400, timeout_at=later)
    assert at.statuses(run_id) == {"a": "ready"}
    at.post(f"/runs/{run_id}/cancel")
