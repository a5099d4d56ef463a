"""Results: accepted once, from the attempt that held the lease, and gathered in order."""

from collections.abc import Mapping
from typing import Any

import msgspec

from windlass.model.graph import Kind, Strategy
from windlass.model.rows import Json, Task
from windlass.model.states import TASK_ENDED, AttemptState, Role, TaskState
from windlass.model.work_answers import WorkAnswer, read_answer
from windlass.testing.simulator.checks.rows import RunRows, expect

_TOLERANT = (Strategy.COLLECT_ERRORS, Strategy.IGNORE_ERRORS, Strategy.CONTINUE)


def check_result(rows: RunRows, task: Task, reported: Mapping[str, Json]) -> None:
    """A task has just ended: is its result the right one?"""
    match task.kind:
        case Kind.CALL if task.state is TaskState.SUCCEEDED:
            check_accepted(rows, task)
            given = reported.get(f"{task.id}@{holder_number(rows, task)}")
            if rows.node(task).planned is not None and given is not None:
                taken = read_answer(msgspec.json.decode(given))
                assert isinstance(taken, WorkAnswer)
                given = taken.json()
            own = rows.node(task).results
            if own is not None and given is not None:
                # A port graph's node lays what it is given over results of its own.
                laid = {**own, **msgspec.json.decode(given)}
                given = msgspec.json.encode(laid).decode()
            expect(task.output == given, f"{task.id} took {task.output}, its attempt said {given}")
        case Kind.PARALLEL | Kind.FOREACH if task.state in (TaskState.SUCCEEDED, TaskState.FAILED):
            check_join(rows, task)
        case Kind.SUBFLOW if task.state is TaskState.SUCCEEDED:
            have = msgspec.json.decode(task.output or "{}")
            variables = rows.variables(task.id)
            want = {key: msgspec.json.decode(value) for key, value in variables.items()}
            expect(have == want, f"{task.id} handed out {have}, its shared state is {want}")
        case _:
            return


def holder_number(rows: RunRows, task: Task) -> int:
    """The attempt whose result a task has: its newest, or the lost one that came back in time and
    for which the newest was made."""
    by_number = {attempt.number: attempt for attempt in rows.attempts[task.id]}
    number = task.claim or task.attempts
    before = by_number.get(number - 1)
    came_back = before is not None and before.state is AttemptState.LOST and before.output
    if before is None or not came_back:
        return number
    newest = by_number[number]
    expect(newest.worker_id == before.worker_id, f"{newest.id} is not in its worker's name")
    return before.number


def check_accepted(rows: RunRows, task: Task) -> None:
    """What is verified counts only if somebody accepted this very claim: its verifier, or a person
    whom it was left to."""
    if rows.node(task).verification is None:
        return
    newest = next(a for a in rows.attempts[task.id] if a.number == task.attempts)
    judges = newest.role is Role.VERIFY and newest.number > task.claim > 0
    expect(judges, f"{task.id} has succeeded, and nobody has judged it")
    verdict = msgspec.json.decode(newest.output or "{}").get("verdict")
    asked = rows.checkpoints.get(f"{task.id}!ask{newest.number}")
    by_person = asked is not None and asked.answer == '"accept"'
    expect(verdict == "accepted" or by_person, f"{task.id} has succeeded, its verdict is {verdict}")


def check_join(rows: RunRows, task: Task) -> None:
    branches = sorted(rows.children[task.id], key=lambda branch: branch.idx)
    strategy = rows.node(task).strategy
    early = strategy is Strategy.FAIL_FAST and task.state is TaskState.FAILED
    open_ones = [branch.idx for branch in branches if branch.state not in TASK_ENDED]
    expect(not open_ones, f"{task.id} is {task.state}, its branches {open_ones} are open")
    whole = early or len(branches) == task.total
    expect(whole, f"{task.id} joined {len(branches)} of {task.total} branches")
    if task.output is None:
        return
    failed = sum(branch.state is TaskState.FAILED for branch in branches)
    succeeds = not failed or strategy in _TOLERANT
    expect(
        succeeds == (task.state is TaskState.SUCCEEDED),
        f"{task.id} is {task.state} with {failed} failed branches under {strategy}",
    )
    want = [part for branch in branches for part in parts(branch, strategy)]
    have = msgspec.json.decode(task.output)
    expect(have == want, f"{task.id} gathered {have}, its branches gave {want}")


def parts(branch: Task, strategy: Strategy) -> list[Any]:
    """What a branch adds to its container's list."""
    if branch.state is TaskState.SUCCEEDED:
        return [msgspec.json.decode(branch.output or "null")]
    if strategy is Strategy.COLLECT_ERRORS:
        return [{"error": msgspec.json.decode(branch.error or "null")}]
    if strategy in (Strategy.FAIL_FAST, Strategy.IGNORE_ERRORS):
        return []
    return [None]
