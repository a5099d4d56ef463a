"""Briefs: what whoever plans, works or verifies is told, as one JSON document.

The shape is a contract with planners, workers and verifiers of every kind; see the guide on plans.
"""

from typing import Any

from windlass.kernel.turn import Turn
from windlass.kernel.values import encode, parse
from windlass.model.graph import Node
from windlass.model.ids import attempt_id
from windlass.model.rows import Attempt, Json, Task, read_failure
from windlass.model.states import AttemptState, Role
from windlass.model.values import is_object
from windlass.model.verdicts import read_verdict

_TRIES_TOLD = 20
"""Of how many earlier tries a brief tells."""
_TEXT_MAX = 4_000


def verify_brief(turn: Turn, task: Task, node: Node, claim: Attempt) -> Json:
    """What a verifier is asked to judge."""
    assert node.verification is not None
    brief = common(turn, task, node, Role.VERIFY)
    brief["task"]["attempt_no"] = claim.number
    brief["result"] = result_told(claim)
    brief["policy"] = node.verification.policy
    brief["env_drift"] = None
    return encode(brief)


def common(turn: Turn, task: Task, node: Node, role: Role) -> dict[str, Any]:
    """What every brief has."""
    run = turn.run
    return {
        "role": str(role),
        "run": {"id": run.id, "goal": "", "input": parse(run.params), "tenant": run.tenant},
        "task": {
            "id": task.id,
            "alias": node.key,
            "goal": "",
            "inputs": parse(task.input),
            "worker_profile": node.target.service if node.target is not None else "",
            "attempt_no": task.attempts + 1,
        },
        "predecessors": [],
        "answers": [],
        "feedback": told_before(turn, task),
        "env": None,
        "blackboard": [],
        "budget": {},
    }


def result_told(claim: Attempt) -> dict[str, Any]:
    """A claim as a verifier sees it. A plain value is itself the structured output."""
    output = parse(claim.output)
    told: dict[str, Any] = {"summary": "", "structured_output": output, "artifacts": []}
    if is_object(output) and {"status", "summary", "structured_output"} <= output.keys():
        told = {name: output.get(name, told[name]) for name in told}
    return {**told, "attempt_id": claim.id}


def feedback_of(turn: Turn, task: Task) -> Json:
    """What was said of earlier tries of a task, as a list; "" where nothing was."""
    told = told_before(turn, task)
    return encode(told) if told else ""


def told_before(turn: Turn, task: Task) -> list[dict[str, str]]:
    """What verifiers and failures said of earlier tries, oldest first."""
    first = max(1, task.attempts - _TRIES_TOLD + 1)
    ids = [attempt_id(task.id, number) for number in range(first, task.attempts + 1)]
    rows = turn.rows(Attempt, ids).values()
    return [told for row in rows if row is not None and (told := _told(row)) is not None]


def _told(attempt: Attempt) -> dict[str, str] | None:
    if attempt.role is Role.VERIFY and attempt.state is AttemptState.SUCCEEDED:
        verdict = read_verdict(attempt.output or "null")
        if isinstance(verdict, str):
            return None
        return _line("verifier", verdict.summary, verdict.failure_class or str(verdict.verdict))
    failure = read_failure(attempt.error)
    if failure is None or attempt.role is not Role.WORK or attempt.state is AttemptState.LOST:
        return None
    return _line("worker", failure.message, failure.code or failure.kind)


def _line(source: str, summary: str, failure_class: str) -> dict[str, str]:
    return {"from": source, "summary": summary[:_TEXT_MAX], "failure_class": failure_class}
