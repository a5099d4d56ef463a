"""Which jobs a pass takes: everybody's in turn, whatever one run costs."""

import asyncio

import pytest

from windlass.engine.fairness import JobQueue
from windlass.engine.jobs import AnyJob, Job, WriteJob
from windlass.kernel.events import (
    AttemptSucceeded,
    CancelRequested,
    RunEvent,
    TimerFired,
)

MUCH = 200_000
NOW = 1_000_000


def spend(queue: JobQueue, run_id: str, cost: int = MUCH) -> None:
    """A run costs much, by many small jobs."""
    queue.take(0, NOW)
    for _ in range(cost // 1_000):
        queue.charge(timer(run_id), 1_000)


def timer(run_id: str, number: int = 0) -> Job:
    return Job(TimerFired(f"{run_id}~a.{number}!delay", run_id))


def result(run_id: str, size: int) -> Job:
    return Job(AttemptSucceeded(f"{run_id}~a#1", '"' + "x" * size + '"'))


def queue_with(*jobs: AnyJob) -> JobQueue:
    queue = JobQueue(lambda run_id: True)
    for job in jobs:
        queue.add(job)
    return queue


def runs_of(jobs: list[AnyJob]) -> list[str]:
    return [job.run_id for job in jobs if not isinstance(job, WriteJob)]


def events_of(jobs: list[AnyJob], run_id: str) -> list[RunEvent]:
    return [job.event for job in jobs if isinstance(job, Job) and job.run_id == run_id]


def drained(queue: JobQueue, now: int = NOW) -> list[AnyJob]:
    taken: list[AnyJob] = []
    while queue:
        now += max(1, queue.rest_ms(now))
        taken += queue.take(256, now)
    return taken


def test_what_costs_little_is_taken_in_the_order_it_came() -> None:
    jobs = [timer(f"r{number}") for number in range(300)]
    queue = queue_with(*jobs)
    assert [*queue.take(256, NOW), *queue.take(256, NOW)] == jobs
    assert not queue


def test_a_run_that_costs_much_waits_while_others_are_about() -> None:
    queue = JobQueue(lambda run_id: True)
    spend(queue, "bad")
    for number in range(40):
        queue.add(timer("bad", number))
    queue.add(timer("good"))
    first = queue.take(256, NOW)
    assert runs_of(first) == ["good"]
    assert 0 < queue.rest_ms(NOW) <= 200


def test_a_run_that_costs_much_gets_all_there_is_when_nobody_else_is_about() -> None:
    queue = JobQueue(lambda run_id: True)
    spend(queue, "bad")
    for number in range(200):
        queue.add(timer("bad", number))
    assert queue.rest_ms(NOW) == 0
    assert len(queue.take(256, NOW)) == 200


def test_one_large_job_does_not_make_all_others_of_its_run_large() -> None:
    queue = JobQueue(lambda run_id: True)
    spend(queue, "fan")
    queue.charge(timer("fan"), 30_000)
    for _ in range(200):
        queue.add(result("fan", 10))
    assert len(queue.take(256, NOW)) == 200


def test_somebody_new_never_waits_for_a_run_that_costs_much() -> None:
    queue = JobQueue(lambda run_id: True)
    spend(queue, "bad")
    for number in range(1_000):
        queue.add(timer("bad", number))
    for step in range(50):
        queue.add(timer(f"good{step}"))
        taken = runs_of(queue.take(256, NOW + 5 * step))
        assert f"good{step}" in taken
        assert len(taken) < 64, "a pass with others in it is a short one"


def test_what_costs_much_goes_on_all_the_same() -> None:
    queue = JobQueue(lambda run_id: True)
    spend(queue, "bad")
    for number in range(100):
        queue.add(timer("bad", number))
    served = 0
    for step in range(200):
        queue.add(timer(f"good{step}"))
        served += runs_of(queue.take(256, NOW + 5 * step)).count("bad")
    assert served == 100


def test_jobs_of_one_run_keep_their_order_however_they_are_taken() -> None:
    queue = JobQueue(lambda run_id: True)
    expected = [timer("bad", number) for number in range(400)]
    for number, job in enumerate(expected):
        queue.add(job)
        if number % 3 == 0:
            queue.add(timer(f"good{number}"))
        if number == 200:
            queue.take(64, NOW)
            spend(queue, "bad")
    taken = events_of(drained(queue), "bad")
    assert taken == [job.event for job in expected][-len(taken) :]


def test_of_runs_that_cost_much_the_cheaper_go_first() -> None:
    queue = JobQueue(lambda run_id: True)
    spend(queue, "dear", 10 * MUCH)
    spend(queue, "cheap")
    for number in range(3):
        queue.add(timer("dear", number))
        queue.add(timer("cheap", number))
    assert runs_of(queue.take(256, NOW)) == ["cheap"] * 3 + ["dear"] * 3


def test_many_jobs_of_one_run_make_it_wait_for_its_turn() -> None:
    queue = queue_with(*[timer("fan", number) for number in range(300)], timer("good"))
    taken = runs_of(queue.take(256, NOW))
    assert taken[0] == "good"
    assert taken.count("fan") < 64


def test_one_large_result_at_a_time_while_others_are_about() -> None:
    queue = queue_with(*[result(f"big{number}", 4 << 20) for number in range(3)], timer("good"))
    taken = runs_of(queue.take(256, NOW))
    assert taken[0] == "good"
    assert len(taken) == 2
    queue.charge(timer(taken[1]), 100_000)
    queue.add(timer("good2"))
    assert runs_of(queue.take(256, NOW + 300)) == ["good2"]


def test_of_several_long_results_each_pass_takes_few() -> None:
    queue = queue_with(*[result(f"big{number}", 512 << 10) for number in range(8)], timer("good"))
    taken = runs_of(queue.take(256, NOW))
    assert taken[0] == "good"
    assert len(taken) < 4
    assert len(drained(queue)) == 9 - len(taken)


def test_long_results_are_taken_together_while_nobody_else_is_about() -> None:
    queue = queue_with(*[result(f"big{number}", 512 << 10) for number in range(8)])
    assert len(queue.take(256, NOW)) == 8


def test_a_run_that_goes_round_is_costly_before_one_that_goes_on() -> None:
    queue = JobQueue(lambda run_id: True)
    queue.take(0, NOW)
    for _ in range(20):
        queue.charge(timer("chain"), 600)
        queue.charge(timer("loop"), 600, again=True)
    queue.add(timer("loop"))
    queue.add(timer("chain"))
    assert runs_of(queue.take(256, NOW)) == ["chain"]
    # Its share of the time is by what it really costs.
    assert runs_of(queue.take(256, NOW + 20)) == ["loop"]


def test_people_who_cancel_a_run_that_costs_much_need_not_wait_for_its_turn() -> None:
    queue = JobQueue(lambda run_id: True)
    spend(queue, "bad")
    for number in range(100):
        queue.add(timer("bad", number))
    queue.add(timer("good"))
    queue.add(Job(CancelRequested("bad")))
    taken = queue.take(256, NOW)
    assert any(isinstance(event, CancelRequested) for event in events_of(taken, "bad"))


def test_what_a_run_has_cost_is_forgotten_in_time() -> None:
    queue = JobQueue(lambda run_id: True)
    spend(queue, "bad")
    for later in (6_000, 12_000):
        queue.take(256, NOW + later)
    queue.add(timer("good"))
    queue.add(timer("bad"))
    assert runs_of(queue.take(256, NOW + 12_001)) == ["good", "bad"]


@pytest.mark.anyio
async def test_rows_of_no_run_are_never_held_up() -> None:
    queue = JobQueue(lambda run_id: True)
    spend(queue, "bad")
    queue.add(timer("bad"))
    queue.add(timer("good"))
    answer: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    queue.add(WriteJob(answer, {}, {}, {}))
    assert len(queue.take(256, NOW)) == 2


def test_a_run_that_has_ended_or_waits_is_nobody_to_rest_for() -> None:
    queue = JobQueue(lambda run_id: run_id != "gone")
    spend(queue, "bad")
    for number in range(400):
        queue.add(timer("bad", number))
    queue.add(timer("gone"))
    first = queue.take(512, NOW)
    assert runs_of(first)[0] == "gone"
    # Somebody like it may come: what is taken at a time is short to wait for, and nothing rests.
    assert 1 < len(first) < 400
    assert queue.rest_ms(NOW + 1) == 0
    assert len(queue.take(512, NOW + 1)) == 401 - len(first)


def test_where_runs_come_and_go_the_next_is_soon_to_come() -> None:
    queue = JobQueue(lambda run_id: run_id not in ("gone", "gone too"))
    spend(queue, "bad")
    for number in range(200):
        queue.add(timer("bad", number))
    queue.add(timer("gone"))
    queue.add(timer("gone too"))
    assert runs_of(queue.take(256, NOW)) == ["gone", "gone too"]
    assert 0 < queue.rest_ms(NOW) <= 200


def test_three_runs_within_a_moment_are_a_crowd_and_two_are_none() -> None:
    queue = JobQueue(lambda run_id: True)
    seen: list[bool] = []
    for runs, at in ((["one", "two"], 0), (["three"], 100), (["one"], 250), (["one"], 900)):
        for run_id in runs:
            queue.add(timer(run_id))
        queue.take(256, NOW + at)
        seen.append(queue.crowded)
    # At 250 ms they were about a moment ago.
    assert seen == [False, True, True, False]
