"""Attempts that are pods: no lease, a fence by pod and attempt, a rule for each class of failure.

What each class does is the design's, section 3; which reasons belong to it the seed's table.
"""

from typing import Any, cast

import pytest

from windlass.dialects.flow import compile_flow
from windlass.kernel.events import (
    AttemptDetached,
    CancelRequested,
    LeaseExpired,
    PodObserved,
    RetryRequested,
    TimerFired,
)
from windlass.model.dead_letters import DeadLetter
from windlass.model.ids import attempt_id
from windlass.model.limits import read_limits
from windlass.model.pods import PodReason, PodSighting, PodStatus
from windlass.model.rows import Attempt, Task, read_failure
from windlass.model.states import AttemptState, RunState, TaskState
from windlass.testing.played import RUN_ID, Played

POD = "default/ff-1"


def play(node: dict[str, Any] | None = None, **pod: Any) -> Played:
    spec = {"image": "busybox:1.36", "resources": {"memory": "64Mi"}, **pod}
    nodes = {"a": {"exec_type": "pod", "pod": spec, **(node or {})}}
    return Played(compile_flow({"start": "a", "nodes": nodes}))


def launch(run: Played, pod: str = POD) -> str:
    """Claim the one task and have its attempt detached."""
    [task] = run.queued()
    given = run.claim(task.id)
    assert run.send(AttemptDetached(given.attempt_id, pod)) == "accepted"
    return given.attempt_id


def see(
    run: Played,
    attempt: str,
    status: str,
    reason: PodReason = PodReason.ERROR,
    *,
    uid: str = "u1",
    pod: str = POD,
    **more: Any,
) -> str:
    seen = PodSighting(status=PodStatus(status), reason=reason, pod=pod, uid=uid, **more)
    return str(run.send(PodObserved(attempt, seen)))


def attempt_of(run: Played, attempt: str) -> Attempt:
    return cast(Attempt, run.tables[Attempt][attempt])


def task_of(run: Played) -> Task:
    [task] = run.all_tasks(RUN_ID)
    return task


def wait(run: Played) -> int:
    """Let the pause before the next attempt pass; how long it was, in milliseconds."""
    task = task_of(run)
    if task.state is TaskState.QUEUED:
        return 0
    assert task.due_at is not None
    pause, run.now = task.due_at - run.now, task.due_at
    run.send(TimerFired(f"{task.id}!retry", RUN_ID))
    return pause


# Life


def test_a_pod_runs_and_succeeds_with_its_exit_code() -> None:
    run = play()
    attempt = launch(run)
    assert see(run, attempt, "RUNNING", PodReason.RUNNING) == "accepted"
    assert attempt_of(run, attempt).state is AttemptState.RUNNING
    assert attempt_of(run, attempt).external_ref == f"{POD}/u1"
    assert see(run, attempt, "SUCCEEDED", PodReason.COMPLETED, exit_code=0) == "accepted"
    assert run.state() is RunState.SUCCEEDED
    assert task_of(run).output == '{"exit_code":0}'


def test_a_detached_attempt_has_no_lease_that_could_run_out() -> None:
    run = play()
    attempt = launch(run)
    run.now += 3_600_000
    run.send(LeaseExpired(attempt, attempt_of(run, attempt).lease_until))
    assert attempt_of(run, attempt).state is AttemptState.CLAIMED
    assert run.send(AttemptDetached(attempt, POD)) == "duplicate"


def test_the_same_said_twice_and_what_comes_late_change_nothing() -> None:
    run = play({"max_retries": 3})
    first = launch(run)
    see(run, first, "RUNNING", PodReason.RUNNING)
    assert see(run, first, "RUNNING", PodReason.RUNNING) == "duplicate"
    assert see(run, first, "FAILED", exit_code=1) == "accepted"
    before = run.row().seq
    assert see(run, first, "FAILED", exit_code=1) == "duplicate"
    assert see(run, first, "SUCCEEDED", PodReason.COMPLETED) == "duplicate"
    assert see(run, first, "RUNNING", PodReason.RUNNING) == "stale"
    assert run.row().seq == before
    assert task_of(run).failures == 1
    wait(run)
    second = launch(run, "default/ff-2")
    assert see(run, first, "FAILED", exit_code=1) == "stale"
    assert see(run, second, "SUCCEEDED", PodReason.COMPLETED, pod=POD) == "stale"
    assert attempt_of(run, second).state is AttemptState.CLAIMED


def test_another_pod_of_the_same_name_speaks_for_nobody() -> None:
    run = play()
    attempt = launch(run)
    see(run, attempt, "RUNNING", PodReason.RUNNING, uid="u1")
    assert see(run, attempt, "SUCCEEDED", PodReason.COMPLETED, uid="u2") == "stale"
    assert run.state() is RunState.RUNNING


def test_who_was_refused_a_pod_that_somebody_else_has_made_meanwhile_changes_nothing() -> None:
    run = play()
    attempt = launch(run)
    assert run.send(AttemptDetached(attempt, POD, "u1")) == "accepted"
    assert see(run, attempt, "FAILED", PodReason.REFUSED, uid="") == "stale"
    assert see(run, attempt, "FAILED", PodReason.UNSCHEDULABLE, uid="") == "stale"
    assert attempt_of(run, attempt).state is AttemptState.CLAIMED


def test_a_pod_that_is_refused_fails_its_task_for_good() -> None:
    run = play({"max_retries": 3})
    attempt = launch(run)
    assert see(run, attempt, "FAILED", PodReason.REFUSED, uid="", message="no") == "accepted"
    failure = read_failure(attempt_of(run, attempt).error)
    assert failure is not None
    assert (failure.kind, failure.code) == ("fatal", "pod.config")
    assert task_of(run).state is TaskState.FAILED


def test_an_attempt_that_is_no_pod_is_not_known() -> None:
    run = play()
    given = run.claim(task_of(run).id)
    assert see(run, given.attempt_id, "SUCCEEDED") == "unknown"
    assert see(run, attempt_id(task_of(run).id, 9), "SUCCEEDED") == "unknown"


def test_a_result_that_was_to_be_handed_in_and_was_not_is_a_failure() -> None:
    run = play({"max_retries": 1}, sdk=True)
    see(run, launch(run), "SUCCEEDED", PodReason.COMPLETED)
    assert task_of(run).failures == 1
    run.succeed(task_of(run).id, {"rows": 7})
    attempt = attempt_id(task_of(run).id, 2)
    assert see(run, attempt, "SUCCEEDED", PodReason.COMPLETED) == "unknown"
    assert run.state() is RunState.SUCCEEDED


# Failure classes


@pytest.mark.parametrize(
    "reason",
    [
        PodReason.ERR_IMAGE_PULL,
        PodReason.IMAGE_PULL_BACK_OFF,
        PodReason.INVALID_IMAGE_NAME,
        PodReason.CONFIG_ERROR,
        PodReason.CREATE_ERROR,
    ],
)
def test_an_image_or_a_set_up_that_cannot_be_had_is_not_tried_again(reason: PodReason) -> None:
    run = play({"max_retries": 5})
    see(run, launch(run), "FAILED", reason)
    assert run.state() is RunState.FAILED
    assert task_of(run).attempts == 1
    assert [row.id for row in run.tables[DeadLetter].values() if isinstance(row, DeadLetter)]


def test_a_plain_error_is_tried_again_as_the_node_says() -> None:
    run = play({"max_retries": 1})
    for _ in range(2):
        assert run.state() is RunState.RUNNING
        see(run, launch(run), "FAILED", PodReason.ERROR, exit_code=3)
    assert run.state() is RunState.FAILED
    failure = read_failure(task_of(run).error)
    assert failure is not None
    assert failure.code == "pod.error"
    assert "exit code 3" in failure.message


def test_out_of_memory_is_tried_again_only_with_more_memory() -> None:
    run = play({"max_retries": 5})
    see(run, launch(run), "FAILED", PodReason.OOM_KILLED, exit_code=137)
    assert run.state() is RunState.FAILED
    run = play(oom_memory_factor=2.0, oom_retries=2)
    for _ in range(3):
        assert run.state() is RunState.RUNNING
        see(run, launch(run), "FAILED", PodReason.OOM_KILLED, exit_code=137)
    assert run.state() is RunState.FAILED


@pytest.mark.parametrize("cause", ["MemoryPressure", "DiskPressure", "NodePressure"])
def test_an_eviction_by_pressure_is_not_the_tasks_fault(cause: str) -> None:
    run = play({"max_retries": 0}, eviction_wait_s=10)
    pauses: list[int] = []
    for _ in range(4):
        see(run, launch(run), "FAILED", PodReason.EVICTED, terminated_reason=cause)
        assert task_of(run).failures == 0
        pauses.append(wait(run))
    assert all(5_000 * 2**n <= pause <= 10_000 * 2**n for n, pause in enumerate(pauses))
    assert pauses != [10_000 * 2**n for n in range(4)], "there is jitter in it"
    see(run, launch(run), "SUCCEEDED", PodReason.COMPLETED)
    assert run.state() is RunState.SUCCEEDED


def test_a_preempted_pod_is_tried_again_too() -> None:
    run = play()
    see(run, launch(run), "FAILED", PodReason.PREEMPTED, terminated_reason="Preempted")
    assert wait(run) > 0
    assert task_of(run).failures == 0


@pytest.mark.parametrize(
    ("reason", "cause"),
    [
        (PodReason.EVICTED, "OutOfcpu"),
        (PodReason.EVICTED, "OutOfmemory"),
        (PodReason.UNSCHEDULABLE, ""),
        (PodReason.CONTAINER_CREATING, ""),
    ],
)
def test_without_room_it_waits_up_to_a_threshold_and_is_given_up(
    reason: PodReason, cause: str
) -> None:
    run = play(capacity_retries=2, capacity_wait_s=30)
    for _ in range(3):
        assert run.state() in (RunState.RUNNING, RunState.WAITING)
        wait(run)
        see(run, launch(run), "FAILED", reason, terminated_reason=cause)
    assert run.state() is RunState.FAILED
    [letter] = run.tables[DeadLetter].values()
    assert isinstance(letter, DeadLetter)
    assert letter.failure_class == "pod.capacity"


def test_the_threshold_counts_anew_after_a_replay() -> None:
    run = play(capacity_retries=1, capacity_wait_s=1)
    for _ in range(2):
        wait(run)
        see(run, launch(run), "FAILED", PodReason.UNSCHEDULABLE)
    assert run.state() is RunState.FAILED
    run.send(RetryRequested(RUN_ID, task_of(run).id))
    see(run, launch(run), "FAILED", PodReason.UNSCHEDULABLE)
    assert task_of(run).state is TaskState.WAITING


def test_a_task_moves_from_a_node_that_is_lost() -> None:
    run = play()
    attempt = launch(run)
    see(run, attempt, "RUNNING", PodReason.RUNNING)
    see(run, attempt, "FAILED", PodReason.NODE_LOST, terminated_reason="NodeLost")
    assert attempt_of(run, attempt).state is AttemptState.LOST
    assert task_of(run).state is TaskState.QUEUED
    assert task_of(run).failures == 0


def test_a_deadline_is_a_time_out() -> None:
    run = play()
    attempt = launch(run)
    see(run, attempt, "FAILED", PodReason.DEADLINE_EXCEEDED)
    assert attempt_of(run, attempt).state is AttemptState.TIMED_OUT
    failure = read_failure(task_of(run).error)
    assert failure is not None
    assert failure.kind == "timeout"


def test_what_a_user_deletes_is_cancelled() -> None:
    run = play({"max_retries": 5})
    attempt = launch(run)
    see(run, attempt, "RUNNING", PodReason.RUNNING)
    see(run, attempt, "CANCELED", PodReason.DELETED, terminated_reason="DeletedByUser")
    assert attempt_of(run, attempt).state is AttemptState.CANCELLED
    assert task_of(run).state is TaskState.CANCELLED
    assert run.state() is RunState.CANCELLED


def test_a_deleted_branch_is_for_its_fan_out_to_judge() -> None:
    pod = {"image": "busybox:1.36"}
    node = {"kind": "foreach", "exec_type": "pod", "pod": pod, "failure_strategy": "collect_errors"}
    nodes = {"a": {**node, "prep": {"input_key": "$params.items"}, "parallel_mode": "concurrent"}}
    run = Played(compile_flow({"start": "a", "nodes": nodes}), {"items": [1, 2]})
    for number, task in enumerate(run.queued()):
        given = run.claim(task.id)
        pod_name = f"default/ff-{number}"
        run.send(AttemptDetached(given.attempt_id, pod_name))
        status = "CANCELED" if number else "SUCCEEDED"
        reason = PodReason.DELETED if number else PodReason.COMPLETED
        see(run, given.attempt_id, status, reason, pod=pod_name)
    assert run.state() is RunState.SUCCEEDED


def test_the_end_of_a_pod_ends_a_run_that_is_being_cancelled() -> None:
    run = play()
    attempt = launch(run)
    run.send(CancelRequested(RUN_ID))
    assert attempt_of(run, attempt).cancel_at is not None
    see(run, attempt, "CANCELED", PodReason.DELETED)
    assert run.state() is RunState.CANCELLED


def test_its_own_use_of_a_disk_is_an_error_like_any_other() -> None:
    run = play()
    see(run, launch(run), "FAILED", PodReason.EVICTED, terminated_reason="OverLimit")
    assert run.state() is RunState.FAILED


def test_only_pods_are_launches_of_a_budget_and_they_say_what_they_take_of_quotas() -> None:
    budget = {"launches": 2, "attempts": 9}
    spec = {"image": "busybox:1.36", "resources": {"cpu": "500m", "memory": "64Mi"}}
    nodes = {
        "pod": {"exec_type": "pod", "pod": spec, "budget": budget},
        "call": {"exec_type": "queue", "service": "s", "budget": budget},
    }
    run = Played(
        compile_flow({"start": "pod", "nodes": nodes, "edges": [{"from": "pod", "to": "call"}]})
    )
    taken = {limit.key: limit for limit in read_limits(run.one("pod").limits)}
    assert taken[f"budget:launches:{run.one('pod').id}"].budget == 2
    assert (taken["quota:cpu"].estimate, taken["quota:memory"].estimate) == (500, 64)
    see(run, launch(run), "SUCCEEDED", PodReason.COMPLETED)
    keys = [limit.key for limit in read_limits(run.one("call").limits)]
    assert keys == [f"budget:attempts:{run.one('call').id}"]
