"""Budgets as the kernel sees them: what a task's attempts use up, and asking for more.

Whether anything is left is not decided here. A task that is parked at a budget which is spent asks,
for all that wait there: the answer raises the budget, and whoever waits is woken by it.
"""

from functools import lru_cache
from typing import Any

from windlass.kernel.asking import close_question
from windlass.kernel.events import BudgetQuestion
from windlass.kernel.routing import fail
from windlass.kernel.turn import Turn
from windlass.kernel.values import encode, parse
from windlass.model.budgets import (
    AMOUNT_MAX,
    LAUNCHES,
    SCALES,
    Budget,
    budget_key,
    load_budget,
    owner_of,
    shown,
    unit_of,
)
from windlass.model.errors import BadRequest
from windlass.model.graph import Node
from windlass.model.limits import Limit
from windlass.model.questions import Option, Question
from windlass.model.rows import Checkpoint, Failure, Json, Task
from windlass.model.values import is_object

KIND = "budget"
_MORE = frozenset({"more", "true", "approved", "yes"})
_STOP = frozenset({"stop", "false", "rejected", "no"})
_OPTIONS = (
    Option("more", "As much again"),
    Option("amount", "So much more", kind="freeform"),
    Option("stop", "Let the task fail"),
)


@lru_cache(maxsize=1024)
def loaded(text: Json) -> Budget:
    return load_budget(text)


def budgets_of(turn: Turn, task: Task, node: Node) -> list[Limit]:
    """The budgets of a task and its run, as limits. One that only has an estimate is there for the
    tenant's budget, should there be one."""
    run, own = loaded(turn.budget), loaded(node.budget)
    estimates = {**run.estimate, **own.estimate}
    found = [
        Limit(budget_key(unit, of), budget=most, estimate=estimates.get(unit, 0))
        for of, budget in ((task.run_id, run), (task.id, own))
        for unit, most in budget.max.items()
        if unit != LAUNCHES or is_launched(node)
    ]
    told = {unit_of(limit.key) for limit in found}
    rest = estimates.keys() - told
    return [*found, *(Limit(budget_key(unit), estimate=estimates[unit]) for unit in sorted(rest))]


def is_launched(node: Node) -> bool:
    """Whether something is launched for each attempt of a node."""
    return node.target is not None and node.target.pod is not None


def is_asking(task: Task) -> bool:
    return task.parked is not None and task.wait_key is not None


def ask_to_raise(turn: Turn, task: Task, about: BudgetQuestion) -> None:
    """Ask a person for more; the task stays parked."""
    unit = unit_of(about.key)
    spent, total = shown(unit, about.spent), shown(unit, about.total)
    shows = {"key": about.key, "unit": unit, "spent": spent, "budget": total}
    asked = Checkpoint(
        id=f"{task.id}!budget{turn.seq}",
        run_id=task.run_id,
        task_id=task.id,
        flow_name=turn.run.flow_name,
        node=task.node,
        kind=KIND,
        prompt=f"The budget of {owner_of(about.key)} is spent: {spent} of {total} {unit}."
        " How many more?",
        show=encode({**shows, "again": shown(unit, about.budget)}),
        created_at=turn.now,
        tenant=turn.tenant,
        details=Question(_OPTIONS, reason_code="budget_spent").json(),
    )
    turn.make(asked)
    turn.note(checkpoint=asked.id, state=str(asked.state))
    turn.move(task, task.state, wait_key=asked.id)


def answered(turn: Turn, task: Task, asked: Checkpoint, answer: Any, by: str, note: str) -> None:
    """A person raises a budget, or lets the task fail that asked."""
    shows = parse(asked.show)
    more = read_more(answer, shows)
    assert task.parked is not None
    turn.raised.append((task.parked, more or 0))
    task = close_question(turn, task, asked, encode(answer), by, note)
    if more is None:
        text = f"the budget is spent: {shows['spent']} of {shows['budget']} {shows['unit']}"
        fail(turn, task, Failure("fatal", text, code="budget_spent"), decided=True)


def read_more(answer: Any, shows: dict[str, Any]) -> int | None:
    """By how much an answer raises a budget; None if it does not."""
    given = answer
    if is_object(given):
        given = given.get("more") or given.get("freeform_input") or given.get("option_id")
    word = str(given).strip().lower()
    if word in _STOP:
        return None
    if word in _MORE:
        given = shows["again"]
    try:
        amount = float(str(given))
    except ValueError:
        amount = 0.0
    if not 0 < amount <= AMOUNT_MAX:
        raise BadRequest(f'answer how many {shows["unit"]} more, "more" for as many again, or stop')
    return max(1, round(amount * SCALES[shows["unit"]]))
