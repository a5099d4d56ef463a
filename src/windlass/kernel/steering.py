"""What people ask of a run that goes on, beyond cancelling it: hints to its plan, questions about
its tasks, and to do without one of them."""

from typing import Any

import msgspec
from msgspec.structs import replace

from windlass.kernel.asking import ask_from_outside
from windlass.kernel.blackboard import say_goal
from windlass.kernel.checkpoints import HELD_CLAIM
from windlass.kernel.leases import is_held
from windlass.kernel.nodes import plan
from windlass.kernel.outcomes import give_back
from windlass.kernel.planning.settings import PlanSettings, settings_of
from windlass.kernel.routing import CANCELLED, close, leave
from windlass.kernel.scopes import drop_holds
from windlass.kernel.turn import Replan, Turn
from windlass.kernel.values import encode
from windlass.kernel.visits import new_task
from windlass.model.errors import Conflict, DefinitionError, NotFound
from windlass.model.graph import Kind
from windlass.model.hints import Hint, HintKind
from windlass.model.ids import scope_of
from windlass.model.ids import task_id as place_id
from windlass.model.plans import Plan, read_plan
from windlass.model.questions import Request
from windlass.model.rows import Task
from windlass.model.states import RUN_ENDED, TASK_ENDED, RunState, TaskState
from windlass.model.values import is_object

_HINTED = frozenset({TaskState.PENDING, TaskState.QUEUED, TaskState.WAITING, TaskState.FAILED})

_ASKED_KEPT = 20
"""Of how many questions from outside a task's attempts are told."""


def check_goes_on(turn: Turn) -> None:
    run = turn.run
    if run.state in RUN_ENDED or run.state is RunState.CANCELLING:
        raise Conflict(f"run {run.id} is {run.state}; it cannot be steered any more")


def find_task(turn: Turn, task_id: str) -> Task | None:
    """A task that has begun, or waits to; None for one whose turn has not come."""
    task = turn.get(Task, task_id)
    if task is None and node_in(turn, task_id) is None:
        raise NotFound(f'run {turn.run_id} has no task "{task_id}"')
    return task


def node_in(turn: Turn, task_id: str) -> str | None:
    """The node of a task that is still to come: its id follows from its place."""
    scope = scope_of(task_id)
    around = None if scope == turn.run_id else turn.get(Task, scope)
    if around is None and scope != turn.run_id:
        return None
    inside = around.node if around is not None else ""
    here = (path for path in turn.graph.joins if path.rpartition("/")[0] == inside)
    return next((path for path in here if place_id(scope, path, 0) == task_id), None)


# Doing without a task


def cancel_task(turn: Turn, task_id: str) -> Task:
    """End a task of a plan, and skip what depends on it."""
    check_goes_on(turn)
    found = find_task(turn, task_id)
    task = found if found is not None else make_row(turn, task_id)
    if task.state in TASK_ENDED:
        raise Conflict(f"task {task.id} is already {task.state}; there is nothing to cancel")
    if turn.node(task).planned is None:
        raise Conflict(f"the run leads through {task.node}, no task of a plan: cancel the run")
    drop_holds(turn, task)
    task = turn.move(turn.task(task.id), TaskState.CANCELLED, action=CANCELLED)
    leave(turn, task, [])
    close(turn, task)
    return task


def make_row(turn: Turn, task_id: str) -> Task:
    """Let a task that is still to come have its row already: what leads to it will find it."""
    path = node_in(turn, task_id)
    assert path is not None
    fresh = new_task(turn, scope_of(task_id), path, waits=True)
    return turn.make_task(replace(fresh, edges_open=turn.graph.joins[path]))


# Questions from outside


def ask(turn: Turn, task_id: str, request: Request, name: str, by: str) -> str:
    """Have a person asked before a task of a plan goes on; returns the checkpoint's id."""
    check_goes_on(turn)
    task = find_task(turn, task_id)
    if task is None or task.state is TaskState.PENDING:
        raise Conflict(f"task {task_id} has not begun; ask about it once it has")
    if turn.graph.nodes[task.node].planned is None:
        raise Conflict(f"{task.node} is no task of a plan; nobody there would be told the answer")
    if task.state in TASK_ENDED:
        raise Conflict(f"task {task.id} is already {task.state}; there is nothing to ask about")
    if task.wait_key is not None:
        raise Conflict(f"task {task.id} waits for an answer already: {task.wait_key}")
    if is_held(task):
        give_back(turn, task, "a person is asked first")
        task = turn.task(task.id)
    judging = task.state is TaskState.VERIFYING or task.parked == HELD_CLAIM
    drop_holds(turn, task)
    container = turn.task(task.scope)
    settings = settings_of(container.input)
    alias = turn.node(task).key
    names = [*settings.asked.get(alias, []), name][-_ASKED_KEPT:]
    keep(turn, container, replace(settings, asked={**settings.asked, alias: names}))
    asked = ask_from_outside(turn, turn.task(task.id), request, name, judging=judging, by=by)
    return asked.id


# Hints


def hint(turn: Turn, given: Hint) -> Task:
    """Tell a plan something; returns the plan's task."""
    check_goes_on(turn)
    container = plan_of(turn, given.task_id)
    settings = settings_of(container.input)
    match given.kind:
        case HintKind.REPLAN_REQUEST:
            replan(turn, container, settings, given)
        case HintKind.CONSTRAINT_UPDATE if given.task_id and given.task_id != container.id:
            alias = check_can_be_told(turn, given.task_id)
            told = {**settings.hints, alias: {**settings.hints.get(alias, {}), **given.details}}
            keep(turn, container, replace(settings, hints=told))
        case _:
            more = replace(settings, input=merged(settings.input, given.details))
            keep(turn, container, more)
            say_goal(turn, container, more)
    return container


def plan_of(turn: Turn, task_id: str) -> Task:
    """The plan that a task belongs to, or that a run is about."""
    if not task_id:
        plans = [t for t in turn.open_tasks(turn.run_id) if t.kind == Kind.PLAN]
        if not plans:
            raise Conflict(f"no plan goes on in run {turn.run_id}; a hint would reach nobody")
        return min(plans, key=lambda task: task.step)
    found = find_task(turn, task_id)
    around = found if found is not None and found.kind == Kind.PLAN else None
    if around is None and scope_of(task_id) != turn.run_id:
        around = turn.task(scope_of(task_id))
    if around is None or around.kind != Kind.PLAN:
        raise Conflict(f"task {task_id} is not part of a plan")
    if around.state in TASK_ENDED:
        raise Conflict(f"plan {around.id} is already {around.state}; a hint would reach nobody")
    return around


def check_can_be_told(turn: Turn, task_id: str) -> str:
    """The alias of a task that is still to be given its inputs."""
    task = turn.get(Task, task_id)
    if task is not None and (task.state not in _HINTED or is_held(task)):
        raise Conflict(f"task {task_id} is {task.state}; it has its inputs already")
    path = task.node if task is not None else node_in(turn, task_id)
    assert path is not None
    return turn.graph.nodes[path].key


def merged(before: Any, more: dict[str, Any]) -> dict[str, Any]:
    if before is not None and not is_object(before):
        raise Conflict("the run's input is no object; nothing can be added to it")
    return {**(before or {}), **more}


def keep(turn: Turn, container: Task, settings: PlanSettings) -> None:
    turn.move(container, container.state, input=encode(settings))


def replan(turn: Turn, container: Task, settings: PlanSettings, given: Hint) -> None:
    """Have a plan made anew as somebody wishes; what they bring along must be one."""
    if not settings.may_be_replanned:
        raise Conflict(f"{container.node} was {plan.replans_spent(settings)}")
    brought = given.details.get("replacement_plan")
    if brought is not None:
        read = read_plan(brought, settings.limits)
        if not isinstance(read, Plan):
            raise DefinitionError(read)
        beyond = plan.too_many(turn, container, settings, read)
        if beyond:
            raise DefinitionError(beyond)
    why = given.summary or msgspec.json.encode(given.details).decode()
    turn.replans.append(Replan(container.id, "hint", given.task_id, why, brought))
