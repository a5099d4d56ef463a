"""Environments as the kernel decides them: a session is what its task says."""

import json
from typing import cast

import pytest

from windlass.dialects.flow import compile_flow
from windlass.kernel.events import (
    AttemptSucceeded,
    CancelRequested,
    Claim,
    EnvAllocated,
    EnvGivenUp,
    EnvRefused,
    EnvReleased,
    EnvReserved,
    EnvSeen,
    LeaseExpired,
    TimerFired,
)
from windlass.model.effects import Effect
from windlass.model.env_drift import EnvDrift
from windlass.model.envs import EnvSession, EnvState
from windlass.model.errors import Conflict
from windlass.model.rows import Timer
from windlass.model.states import RunState, TaskState
from windlass.testing.played import Played

CALL = {"exec_type": "queue", "service": "s", "max_retries": 1}
LIMITS = '["default env:box"]'


def played(**env: object) -> Played:
    node = {**CALL, "env": {"resource": "box", **env}}
    return Played(compile_flow({"start": "a", "nodes": {"a": node}, "edges": []}))


def session(run: Played) -> EnvSession:
    """The newest one."""
    return cast(EnvSession, list(run.tables[EnvSession].values())[-1])


def effects(run: Played) -> list[str]:
    return [cast(Effect, row).kind for row in run.tables.get(Effect, {}).values()]


def reserve(run: Played, kind: str = "container") -> object:
    return run.send(EnvReserved(run.one("a").id, "default:box", kind, LIMITS))


def place(run: Played) -> EnvSession:
    assert reserve(run) is True
    assert run.send(EnvAllocated(session(run).id, "host")) is True
    return session(run)


def test_a_task_waits_outside_its_queue_until_its_place_is_there() -> None:
    run = played()
    before = run.one("a")
    reserve(run)
    assert run.one("a").state is TaskState.WAITING
    assert (session(run).state, effects(run)) == (EnvState.RESERVED, ["env.allocate"])
    run.send(EnvAllocated(session(run).id, "host", '{"image":"x"}'))
    after = run.one("a")
    assert (after.state, after.ready_at) == (TaskState.QUEUED, before.ready_at), "and keeps its age"
    taken = run.claim(after.id)
    assert '"lease_epoch":1' in taken.env
    assert session(run).attempt_id == taken.attempt_id
    assert not run.tables[Timer], "nothing runs out while an attempt has it"


def test_what_has_ended_gives_its_place_back_and_room_only_when_it_is_gone() -> None:
    run = played()
    place(run)
    run.succeed(run.one("a").id, 1)
    assert run.state() is RunState.SUCCEEDED
    assert (session(run).state, run.one("a").env) == (EnvState.RELEASING, "")
    run.send(EnvReleased(session(run).id))
    assert session(run).state is EnvState.RELEASED


def test_a_lost_attempt_and_a_failed_one_get_another_place() -> None:
    run = played()
    first = place(run)
    taken = run.claim(run.one("a").id)
    run.now += 60_000
    run.send(LeaseExpired(taken.attempt_id, taken.lease_until))
    assert run.tables[EnvSession][first.id] == session(run)
    assert session(run).state is EnvState.RELEASING
    second = place(run)
    assert second.id != first.id
    run.fail(run.one("a").id)
    assert session(run).state is EnvState.RELEASING


def test_a_late_outcome_counts_without_the_place_that_is_being_made() -> None:
    run = played()
    place(run)
    taken = run.claim(run.one("a").id)
    run.now += 60_000
    run.send(LeaseExpired(taken.attempt_id, taken.lease_until))
    reserve(run)
    assert run.send(AttemptSucceeded(taken.attempt_id, "1")) == "accepted"
    assert run.state() is RunState.SUCCEEDED
    assert session(run).state is EnvState.RELEASING
    making = f"{session(run).id}!allocate"
    assert making not in run.tables[Effect], "nobody needs to make it any more"


def test_nobody_came_for_it() -> None:
    run = played()
    made = place(run)
    timer = next(iter(run.tables[Timer]))
    run.now = made.expires_at or 0
    run.send(TimerFired(timer, run.row().id))
    assert session(run).state is EnvState.RELEASING
    waiting = run.one("a")
    assert (waiting.state, waiting.env) == (TaskState.QUEUED, ""), "it asks for another"


def test_a_task_that_has_lost_its_place_meanwhile_is_handed_to_nobody() -> None:
    run = played()
    made = place(run)
    run.now = made.expires_at or 0
    run.send(TimerFired(next(iter(run.tables[Timer])), run.row().id))
    assert run.send(Claim(run.one("a").id, "w", "", "", 1_000)) is None
    assert run.one("a").state is TaskState.QUEUED


def test_a_place_that_cannot_be_made_is_a_failure_like_any_other() -> None:
    run = played()
    for _ in range(2):
        reserve(run)
        run.send(EnvRefused(session(run).id, "no such image"))
    assert run.state() is RunState.FAILED
    assert "no such image" in str(run.one("a").error)


def test_another_kind_than_was_asked_for_is_refused() -> None:
    run = played(kind="browser")
    assert reserve(run, "container") is None
    assert run.state() is RunState.FAILED
    assert EnvSession not in run.tables


def test_a_cancelled_run_leaves_no_place() -> None:
    run = played()
    reserve(run)
    run.send(CancelRequested(run.row().id))
    assert run.state() is RunState.CANCELLED
    assert session(run).state is EnvState.RELEASING
    assert run.send(EnvAllocated(session(run).id, "host")) is False, "whoever made it removes it"


def test_what_failed_is_kept_and_somebody_may_end_that() -> None:
    run = played(keep_failed_s=60)
    place(run)
    taken = run.claim(run.one("a").id)
    with pytest.raises(Conflict, match="works in it"):
        run.send(EnvGivenUp(session(run).id, "why not"))
    run.fail(taken.task_id, kind="fatal")
    assert session(run).state is EnvState.KEPT
    run.send(EnvGivenUp(session(run).id, "seen"))
    assert (session(run).state, session(run).reason) == (EnvState.RELEASING, "seen")
    assert effects(run).count("env.release") == 1


# What is done in a place, and judged

SEEN = EnvDrift("changed", "1", "2")


def judged() -> Played:
    node = {**CALL, "env": "box", "verification": {"verifier_profile": "judge"}}
    run = Played(compile_flow({"start": "a", "nodes": {"a": node}, "edges": []}))
    place(run)
    run.succeed(run.one("a").id, 1)
    return run


def drift_told(run: Played) -> str:
    brief = json.loads(run.claim(run.one("a").id).input)
    return str(brief["env_drift"]["status"])


def test_a_claim_is_judged_once_its_place_was_looked_at() -> None:
    run = judged()
    waiting = run.one("a")
    assert (waiting.state, waiting.claimable) == (TaskState.VERIFYING, False)
    assert session(run).state is EnvState.RELEASING
    run.send(EnvSeen(session(run).id, SEEN))
    assert run.one("a").claimable
    assert not run.tables[Timer]
    run.send(EnvSeen(session(run).id, EnvDrift("unknown")))
    assert drift_told(run) == "changed", "who comes too late to see it takes nothing back"


def test_a_look_that_does_not_come_holds_no_verdict_for_ever() -> None:
    run = judged()
    timer = cast(Timer, next(iter(run.tables[Timer].values())))
    run.now = timer.due_at
    run.send(TimerFired(timer.id, run.row().id))
    assert run.one("a").claimable
    assert drift_told(run) == "unknown"
    run.send(EnvSeen(session(run).id, SEEN))
    assert not run.one("a").claimable, "it is being judged"


def test_what_is_done_in_no_place_has_no_drift() -> None:
    node = {**CALL, "verification": {"verifier_profile": "judge"}}
    run = Played(compile_flow({"start": "a", "nodes": {"a": node}, "edges": []}))
    run.succeed(run.one("a").id, 1)
    assert drift_told(run) == "not_applicable"
