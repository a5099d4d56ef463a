"""Runs of plans for tests of the kernel: a plan is given, and the test is planner and worker."""

import json
from typing import Any

from windlass.dialects.plan import compile_plan
from windlass.kernel.events import AttemptSucceeded, QuestionAsked
from windlass.model.assignment import Assignment
from windlass.model.questions import Question, Request
from windlass.model.rows import Checkpoint, Task
from windlass.model.states import TaskState
from windlass.testing.played import RUN_ID, Played


def task(alias: str, *needs: str, **more: Any) -> dict[str, Any]:
    return {"alias": alias, "goal": f"do {alias}", "depends_on": list(needs), **more}


def played(**params: Any) -> Played:
    return Played(compile_plan({}), {"goal": "make it so", **params})


def planned(*tasks: dict[str, Any], **params: Any) -> Played:
    return played(plan={"tasks": list(tasks)}, worker_profile="hand", **params)


def of(run: Played, alias: str) -> Task:
    return run.one(f"plan/{alias}")


def claim(run: Played, alias: str = "") -> Assignment:
    return run.claim((of(run, alias) if alias else run.one("plan")).id)


def say(run: Played, assignment: Assignment, output: Any) -> str:
    answer: str = run.send(AttemptSucceeded(assignment.attempt_id, json.dumps(output)))
    return answer


def do(run: Played, alias: str, output: Any = None) -> None:
    """End a task's attempt with an answer, or a verdict; it is claimed first if nobody has it."""
    run.succeed(of(run, alias).id, {"of": alias} if output is None else output)


def open_states(run: Played) -> dict[str, str]:
    prefix = "plan/"
    return {
        t.node.removeprefix(prefix): str(t.state)
        for t in run.tasks()
        if t.node.startswith(prefix) and t.state is not TaskState.SUPERSEDED
    }


def ask(run: Played, alias: str, text: str = "Go on?", **details: Any) -> str:
    """Have a person asked about a task from outside; returns the checkpoint's id."""
    event = QuestionAsked(
        RUN_ID, of(run, alias).id, Request(text, Question(**details)), f"q{run.row().seq}", "ann"
    )
    asked: str = run.send(event)
    return asked


def question(run: Played) -> Checkpoint:
    rows = [row for row in run.tables[Checkpoint].values() if isinstance(row, Checkpoint)]
    return next(row for row in rows if row.state == "open")
