"""Briefs: what whoever plans, works or verifies is told, as one JSON document.

The shape is a contract with planners, workers and verifiers of every kind; see the guide on plans.
"""

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from windlass.kernel import blackboard
from windlass.kernel.checkpoints import asked_id, from_outside_id
from windlass.kernel.planning.lower import tasks_of
from windlass.kernel.planning.settings import PlanSettings, settings_of
from windlass.kernel.turn import Turn, container_of
from windlass.kernel.values import encode, parse
from windlass.model.env_drift import NO_PLACE, NOT_SEEN, EnvDrift
from windlass.model.graph import Node
from windlass.model.ids import attempt_id, node_path, task_id
from windlass.model.notes import read_notes
from windlass.model.rows import Attempt, Checkpoint, Json, Task, read_failure
from windlass.model.states import AttemptState, CheckpointState, Role, TaskState
from windlass.model.values import is_object
from windlass.model.verdicts import read_verdict
from windlass.model.work_answers import WorkAnswer, kept_answer

Brief = dict[str, Any]

_TRIES_TOLD = 20
"""Of how many earlier tries a brief tells."""
_TEXT_MAX = 4_000


def verify_brief(turn: Turn, task: Task, node: Node, claim: Attempt) -> Brief:
    """What a verifier is asked to judge."""
    assert node.verification is not None
    brief = common(turn, task, node, Role.VERIFY)
    brief["task"]["attempt_no"] = claim.number
    brief["result"] = result_told(claim, planned=node.planned is not None)
    brief["policy"] = node.verification.policy
    brief["env_drift"] = drift_told(node, claim)
    return brief


def drift_told(node: Node, claim: Attempt) -> EnvDrift:
    """What a claim's attempt has changed in the place it was done in."""
    if not node.env:
        return NO_PLACE
    return read_notes(claim.notes).env_drift or NOT_SEEN


def work_brief(turn: Turn, task: Task, node: Node, env: dict[str, Any] | None) -> Brief:
    """What a worker of a plan's task is asked to do, and where."""
    return {**common(turn, task, node, Role.WORK), "env": env}


def plan_brief(
    turn: Turn,
    task: Task,
    settings: PlanSettings,
    wanted: dict[str, Any],
    profiles: Sequence[str] = (),
    envs: Sequence[tuple[str, str, str]] = (),
) -> Brief:
    """What a planner is asked for: a first plan, or another one and why."""
    nodes = tasks_of(turn.graph, task.node)
    rows = turn.rows(Task, [task_id(task.id, node.path, 0) for node in nodes])
    return {
        "role": str(Role.PLAN),
        "run": run_told(turn, settings),
        "task": {
            "id": task.id,
            "alias": turn.node(task).key,
            "goal": settings.goal,
            "inputs": settings.input,
            "worker_profile": settings.worker,
            "attempt_no": task.attempts + 1,
        },
        "predecessors": [],
        "answers": [],
        "feedback": told_before(turn, task),
        "env": None,
        "blackboard": blackboard.captured_goal(turn, task),
        "budget": parse(turn.left or "{}"),
        "reason": wanted.get("reason", "start"),
        "source_task_id": wanted.get("source_task_id", ""),
        "hint": wanted.get("hint", ""),
        "current": [
            {**predecessor_told(node, row), "goal": node.planned.goal}
            for node, row in zip(nodes, rows.values(), strict=True)
            if row is not None and node.planned is not None
        ],
        "limits": msgspec.structs.asdict(settings.limits),
        "env_resources": [
            {"name": name, "kind": kind, "status": status} for name, kind, status in envs
        ],
        "profiles": list(profiles),
    }


def run_told(turn: Turn, settings: PlanSettings | None) -> dict[str, Any]:
    run = turn.run
    if settings is None:
        return {"id": run.id, "goal": "", "input": parse(run.params), "tenant": run.tenant}
    return {"id": run.id, "goal": settings.goal, "input": settings.input, "tenant": run.tenant}


def predecessor_told(node: Node, row: Task | None) -> dict[str, Any]:
    """A task as those who come after it, or plan around it, are told."""
    if row is None:
        return {"alias": node.key, "task_id": "", "status": "pending"}
    answer = kept_answer(row.output if row.state is TaskState.SUCCEEDED else None)
    failure = read_failure(row.error)
    return {
        "alias": node.key,
        "task_id": row.id,
        "status": "completed" if row.state is TaskState.SUCCEEDED else str(row.state),
        "summary": answer.summary or (failure.message if failure is not None else ""),
        "structured_output": answer.structured_output,
        "artifacts": answer.artifacts,
    }


def answers_told(turn: Turn, task: Task, outside: list[str]) -> list[dict[str, Any]]:
    """What people answered to questions of a task's earlier attempts, and to those asked about it
    from `outside`."""
    first = max(1, task.attempts - _TRIES_TOLD + 1)
    ids = [asked_id(task.id, number) for number in range(first, task.attempts + 1)]
    ids += [from_outside_id(task.id, name) for name in outside]
    told: list[dict[str, Any]] = []
    rows = [row for row in turn.rows(Checkpoint, ids).values() if row is not None]
    for row in sorted(rows, key=lambda row: row.created_at):
        if row.state is CheckpointState.OPEN or row.answer is None:
            continue
        given: Any = parse(row.answer)
        reply = given if is_object(given) else {"mode": "select_option", "option_id": given}
        line = {"mode": "", "option_id": "", "freeform_input": "", **reply}
        said_by = {"resolved_by": row.answered_by, "note": row.note}
        told.append({"checkpoint_id": row.id, "question": row.prompt, **line, **said_by})
    return told


def settings_in(turn: Turn, container: Task) -> PlanSettings:
    """The settings of a plan, read once for all its tasks: the whole plan may stand in them."""
    key = ("settings", container.id)
    text, settings = turn.view.memo.get(key, ("", None))
    if settings is None or text != container.input:
        settings = settings_of(container.input)
        turn.view.memo[key] = container.input, settings
    found: PlanSettings = settings
    return found


def common(turn: Turn, task: Task, node: Node, role: Role) -> dict[str, Any]:
    """What every brief has."""
    planned = node.planned
    container = container_of(turn, task) if planned is not None else None
    needs = [node_path(node.scope_path, name) for name in planned.depends_on] if planned else []
    rows = turn.rows(Task, [task_id(task.scope, path, 0) for path in needs])
    settings = settings_in(turn, container) if container is not None else None
    outside = settings.asked.get(node.key, []) if settings is not None else []
    return {
        "role": str(role),
        "run": run_told(turn, settings),
        "task": {
            "id": task.id,
            "alias": node.key,
            "goal": planned.goal if planned is not None else "",
            "inputs": inputs_told(task, node, settings),
            "worker_profile": profile_of(node),
            "attempt_no": task.attempts + 1,
        },
        "predecessors": [
            predecessor_told(turn.graph.nodes[path], row)
            for path, row in zip(needs, rows.values(), strict=True)
        ],
        "answers": answers_told(turn, task, outside) if task.attempts or outside else [],
        "feedback": told_before(turn, task),
        "env": None,
        "blackboard": blackboard.captured(turn, task, list(rows)) if planned else [],
        "budget": parse(turn.left or "{}"),
    }


def profile_of(node: Node) -> str:
    """Who does the tasks of a node."""
    if node.planned is not None and node.planned.pod_profile:
        return node.planned.pod_profile
    return node.target.service if node.target is not None else ""


def given_brief(turn: Turn, task: Task, node: Node) -> Json:
    """The brief of the attempt that a task has, once more, for whoever has lost it."""
    before = replace(task, attempts=task.attempts - 1)
    return encode(work_brief(turn, before, node, None))


def inputs_told(task: Task, node: Node, settings: PlanSettings | None) -> Any:
    """A task's inputs, with what somebody added to them meanwhile."""
    inputs = parse(task.input)
    hints = settings.hints.get(node.key) if settings is not None else None
    return {**inputs, **hints} if hints and is_object(inputs) else hints or inputs


def claim_told(claim: Attempt, *, planned: bool) -> WorkAnswer:
    """What an attempt claims. A plain value is itself the structured output."""
    if planned:
        return kept_answer(claim.output)
    return WorkAnswer(structured_output=parse(claim.output))


def result_told(claim: Attempt, *, planned: bool) -> dict[str, Any]:
    """A claim as a verifier sees it."""
    answer = claim_told(claim, planned=planned)
    return {
        "summary": answer.summary,
        "structured_output": answer.structured_output,
        "artifacts": answer.artifacts,
        "attempt_id": claim.id,
    }


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
    if failure is None or attempt.role is Role.VERIFY or attempt.state is AttemptState.LOST:
        return None
    source = "worker" if attempt.role is Role.WORK else "planner"
    return _line(source, failure.message, failure.code or failure.kind)


def _line(source: str, summary: str, failure_class: str) -> dict[str, str]:
    return {"from": source, "summary": summary[:_TEXT_MAX], "failure_class": failure_class}
