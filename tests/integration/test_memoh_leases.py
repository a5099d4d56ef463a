"""Memoh's scenarios about leases, where leases are short: who loses one, who takes over.

They are part of the list in `test_memoh_scenarios`.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.hand import named
from tests.integration.conftest import TOKEN, Served
from tests.integration.memoh import TASK_ENDS, Hand, Plans, judged, unique
from tests.integration.test_orchestration import task
from windlass.testing import servers
from windlass.testing.processes import ServerProcess, started

LEASE_S = 1.0


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def quick(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    postgres_server: servers.PostgresServer,
) -> Iterator[Served]:
    """A server of this module's own: leases of a second would be too short for others."""
    folder: Path = tmp_path_factory.mktemp("quick")
    sqlite = request.param == "sqlite"
    db = f"sqlite:///{folder / 'windlass.db'}" if sqlite else postgres_server.new_database()
    lease = str(LEASE_S)
    server = ServerProcess(db, "--admin-token", TOKEN, "--lease-s", lease, log=folder / "log")
    with started(server):
        found = Served(server, db)
        yield found
        found.http.close()


def test_stale_worker_takeover_fences(quick: Served) -> None:
    at, profile = Plans(quick), unique("stale")
    old, new = Hand(quick, profile, f"old-{profile}"), Hand(quick, profile, f"new-{profile}")
    run_id = at.start(profile, task("a"), task("b", "a"))
    lost = old.take()
    old.renew(lost)
    mine = new.take()
    assert mine["attemptId"] != lost["attemptId"]
    assert mine["token"] != lost["token"]
    assert old.loses(lost)
    began = quick.http.post(
        f"/api/v1/workers/old-{profile}/actions",
        json={**named(lost), "callId": "c1", "tool": "web_fetch"},
    )
    assert began.status_code == 409, began.text
    assert old.told(lost, {"n": "old"}) == "stale"
    forged = {**lost, "attemptId": mine["attemptId"]}
    assert old.told(forged, {"n": "forged"}) == "stale", "an older token opens nothing newer"
    new.finish(mine, {"n": "new"})
    assert old.told(lost, {"n": "old"}) == "stale"
    last = new.take()
    assert last["input"]["predecessors"][0]["structured_output"] == {"n": "new"}
    new.finish(last, {})
    at.until(run_id, "completed")
    statuses = [row["status"] for row in at.inspect(run_id)["attempts"]]
    assert statuses == ["lost", "completed", "completed"]


def test_claimed_and_running_lease_expiry(quick: Served) -> None:
    """Planner, worker and verifier, silent from the start or after a while: all of it goes on."""
    at, profile, judge = Plans(quick), unique("expired"), unique("expired-judge")
    planner, other = unique("expired-planner"), unique("expired-other")
    planned, worked = at.planned_by(planner), at.start(profile, task("a"))
    verified = at.start(other, task("a", **judged(judge)))
    hands = [Hand(quick, name) for name in (planner, profile, judge)]
    maker = Hand(quick, other)
    maker.finish(maker.take(), {"n": 1})
    answers: list[Any] = [
        {"root": {"goal": "all", "worker_profile": "builtin.echo"}},
        {"n": 1},
        {"verdict": "accepted"},
    ]
    claimed = [hand.take() for hand in hands]
    running = [hand.take() for hand in hands]
    for hand, attempt in zip(hands, running, strict=True):
        hand.say(attempt, "at it")
    for hand, *silent, answer in zip(hands, claimed, running, answers, strict=True):
        again = hand.take()
        for attempt in silent:
            assert attempt["number"] < again["number"]
            assert hand.told(attempt, answer) == "stale"
        hand.finish(again, answer)
    for run_id in (planned, worked, verified):
        assert at.until(run_id, "completed")["output"]
        seen = at.inspect(run_id)
        assert seen["stuck_signals"] == []
        assert len(seen["results"]) == 1
        ends = [row["status"] for row in (*seen["attempts"], *seen["verifications"])]
        assert ends.count("lost") >= 2
        assert ends.count("failed") == 0, "what is lost is nobody's failure"


class Phase:
    """A run brought to one phase, and whoever has something of it in hand."""

    def __init__(self, at: Plans, served: Served, name: str) -> None:
        self.at, self.served, self.name = at, served, name
        self.planner, self.worker = unique("stop-planner"), unique("stop-worker")
        self.judge = unique("stop-judge")
        self.planning = Hand(served, self.planner)
        self.working, self.judging = Hand(served, self.worker), Hand(served, self.judge)
        self.held: list[tuple[Hand, dict[str, Any]]] = []
        self.run_id = getattr(self, name)()

    def plan_waiting(self) -> str:
        return self.at.planned_by(self.planner)

    def plan_held(self) -> str:
        run_id = self.plan_waiting()
        self.held = [(self.planning, self.planning.take())]
        return run_id

    def ready(self, **more: Any) -> str:
        policy = judged(self.judge)
        first = task("a", **policy, **more)
        return self.at.start(self.worker, first, task("b", "a"))

    def claimed(self) -> str:
        run_id = self.ready()
        self.held = [(self.working, self.working.take())]
        return run_id

    def running(self) -> str:
        run_id = self.claimed()
        self.working.say(self.held[0][1], "at it")
        return run_id

    def backing_off(self) -> str:
        run_id = self.ready(retry_policy={"max_attempts": 2, "backoff_seconds": 60})
        self.working.fail(self.working.take(), "not yet")
        return run_id

    def verdict_waiting(self) -> str:
        run_id = self.ready()
        self.working.finish(self.working.take(), {"n": 1})
        return run_id

    def verdict_held(self) -> str:
        run_id = self.verdict_waiting()
        self.held = [(self.judging, self.judging.take())]
        return run_id

    def person_asked(self) -> str:
        run_id = self.ready()
        self.at.ask(run_id, "a")
        return run_id

    def barred(self) -> str:
        run_id = self.verdict_waiting()
        self.at.ask(run_id, "a", blocks_run=True)
        return run_id

    def replanned(self) -> str:
        run_id = self.running()
        self.at.post(f"/runs/{run_id}/hints", hint={"kind": "replan_request", "summary": "anew"})
        return run_id


PHASES = (
    "plan_waiting",
    "plan_held",
    "ready",
    "claimed",
    "running",
    "backing_off",
    "verdict_waiting",
    "verdict_held",
    "person_asked",
    "barred",
    "replanned",
)


def test_cancel_converging_from_every_attempt_and_verification_phase(quick: Served) -> None:
    at = Plans(quick)
    for told in (False, True):
        phases = []
        for name in PHASES:
            phase = Phase(at, quick, name)
            status = at.post(f"/runs/{phase.run_id}/cancel")["lifecycle_status"]
            assert status == ("cancelling" if phase.held else "cancelled"), name
            at.post(f"/runs/{phase.run_id}/cancel")
            for hand, attempt in phase.held if told else ():
                assert hand.is_to_stop(attempt), name
                hand.fail(attempt, "stopped as I was told")
            phases.append(phase)
        for phase in phases:
            converged(at, phase)


def converged(at: Plans, phase: Phase) -> None:
    """Nothing of a cancelled run is left that could go on."""
    at.until(phase.run_id, "cancelled")
    tasks = at.tasks(phase.run_id)
    assert {row["status"] for row in tasks.values()} <= TASK_ENDS | {"created"}, phase.name
    assert tasks[""]["status"] == "cancelled", phase.name
    seen = at.inspect(phase.run_id)
    assert seen["summary"]["attempts_active"] == 0, phase.name
    assert seen["summary"]["checkpoints_open"] == 0, phase.name
    assert seen["run"]["intent_status"] == "idle", phase.name
    for hand, attempt in phase.held:
        assert hand.told(attempt, {"verdict": "accepted"}) == "stale", phase.name
    for hand in (phase.planning, phase.working, phase.judging):
        assert hand.gets() == [], phase.name
    assert at.run(phase.run_id)["lifecycle_status"] == "cancelled", phase.name
