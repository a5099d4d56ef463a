"""Attempts that end without a result: what that means is for the rules of their role to say."""

from windlass.kernel import verifying
from windlass.kernel.nodes import call, plan
from windlass.kernel.planning.settings import settings_of
from windlass.kernel.turn import Turn
from windlass.model.ids import attempt_id
from windlass.model.rows import Attempt, Failure, Task
from windlass.model.states import Role


def ended_without_result(
    turn: Turn, task: Task, attempt: Attempt, failure: Failure, log: str | None = None
) -> None:
    if attempt.role is Role.VERIFY:
        verifying.no_verdict(turn, task, attempt, failure, log)
    elif attempt.role is Role.PLAN:
        plan.not_planned(turn, task, attempt, failure, log)
    else:
        call.attempt_failed(turn, task, attempt, failure, log)


def timed_out(turn: Turn, task: Task) -> None:
    """The attempt's time is up: fence it."""
    attempt = newest(turn, task)
    if attempt.role is Role.PLAN:
        text = f"no plan within {settings_of(task.input).limits.planner_seconds} s"
    else:
        rule = turn.node(task).verification if attempt.role is Role.VERIFY else turn.node(task)
        assert rule is not None
        text = f"no result within {rule.timeout_ms} ms"
    ended_without_result(turn, task, attempt, Failure("timeout", text))


def give_back(turn: Turn, task: Task, why: str) -> None:
    """Take a task from whoever has it, as if nobody had begun: nothing is counted."""
    ended_without_result(turn, task, newest(turn, task), Failure("returned", why))


def newest(turn: Turn, task: Task) -> Attempt:
    attempt = turn.get(Attempt, attempt_id(task.id, task.attempts))
    assert attempt is not None, f"task {task.id} has no attempt"
    return attempt
