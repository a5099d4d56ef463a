"""Plan nodes: containers whose inside comes from planning attempts.

A plan's task waits in its planner's queue (`queued`), is planned (`running`, with that queue), and
is then a container without a queue, until its tasks have ended or somebody wants it planned anew.
Tasks that run go on while their plan is made anew.
"""

from typing import Any

from msgspec.structs import replace

from windlass.kernel.blackboard import say_goal
from windlass.kernel.briefs import plan_brief
from windlass.kernel.events import Claim
from windlass.kernel.grow import patch_graph, tasks_within
from windlass.kernel.leases import (
    NO_OUTCOME,
    WANTED_AFTER,
    end_of,
    is_held,
    is_planning,
    lease,
    with_brief,
)
from windlass.kernel.limits import NoLimitKey, limits_of
from windlass.kernel.placement import queue_of
from windlass.kernel.planning.lower import patch_of, tasks_of
from windlass.kernel.planning.settings import (
    PlanSettings,
    judged_by_pods,
    read_settings,
    settings_of,
)
from windlass.kernel.push_back import is_push_back, push_back
from windlass.kernel.recount import recount
from windlass.kernel.requeue import requeue, unreachable_pause_ms
from windlass.kernel.routing import CANCELLED, close, end_scope, fail
from windlass.kernel.scopes import cancel_below, drop_holds
from windlass.kernel.turn import WANTED, Replan, Turn
from windlass.kernel.values import Reader, encode, parse
from windlass.model.assignment import Assignment
from windlass.model.envs import EnvResource, resource_id
from windlass.model.errors import DefinitionError, Problem
from windlass.model.graph import Kind, Node
from windlass.model.ids import attempt_id, task_id
from windlass.model.plans import Plan, env_need, read_plan
from windlass.model.rows import Attempt, Failure, Json, Task, Variable
from windlass.model.states import AttemptState, Role, TaskState

_TRIES = 3
"""Planners that fail, or hand in what is no plan, one after the other."""
_PROBLEMS_TOLD = 50
_CHARS_A_STEP = 6
"""As a power of two, how many characters of a plan or its settings are one value that is read."""


def visit(turn: Turn, task: Task, node: Node) -> None:
    """Begin a plan: with the one that is given, or by asking for one."""
    assert node.planner is not None
    reader = Reader(turn, task.scope, node.path, task.input)
    given = {name: reader.found(ref) for name, ref in node.planner.items()}
    if node.goal:
        given["goal"] = reader.joined(node.goal)
    settings = read_settings(given)
    limits = settings if isinstance(settings, str) else planning_limits(turn, task, node)
    if isinstance(settings, str) or isinstance(limits, Failure):
        flaw = limits if isinstance(limits, Failure) else invalid(str(settings))
        fail(turn, turn.make_task(replace(task, started_at=turn.now)), flaw)
        return
    if task.generation:
        # Visited before and superseded since: nothing of that is wanted any more.
        for key in turn.variables(task.id):
            turn.remove(Variable, (task.id, key))
    # What it begins with is kept as a patch, and need not be written with every count of its tasks.
    kept = encode(replace(settings, plan=None, visited=turn.seq if task.generation else 0))
    turn.spend(len(kept) >> _CHARS_A_STEP)
    began = replace(task, input=kept, started_at=turn.now, limits=limits)
    say_goal(turn, task, settings)
    first = settings.first_plan
    if first is None:
        queue = queue_of(turn, settings.planner)
        turn.make_task(replace(began, state=TaskState.QUEUED, queue=queue, ready_at=turn.now))
        return
    container = turn.make_task(replace(began, state=TaskState.RUNNING))
    problems = put(turn, container, settings, first, reason="start", author="")
    if problems:
        fail(turn, turn.task(container.id), refused(problems))


def planning_limits(turn: Turn, task: Task, node: Node) -> Json | Failure:
    """What planning is under, as doing the plan's tasks is."""
    if not (turn.budget or node.limits):
        return ""
    try:
        return limits_of(turn, task, node)
    except NoLimitKey as error:
        return Failure("fatal", str(error), code="limit_key")


def invalid(why: str) -> Failure:
    return Failure("fatal", why, code="invalid_plan")


def claim(turn: Turn, task: Task, by: Claim) -> Assignment:
    """Lease the planning; the task keeps its queue while a planner has it."""
    settings = settings_of(task.input)
    turn.move(task, TaskState.RUNNING, attempts=task.attempts + 1)
    attempt = lease(turn, task, by, Role.PLAN)
    turn.set_timer(task.id, "timeout", turn.now + settings.limits.planner_seconds * 1000)
    profiles = sorted({*by.profiles, *settings.profiles})
    brief = plan_brief(turn, task, settings, wanted(turn, task), profiles, by.envs)
    return with_brief(turn, task, attempt, settings.planner, brief)


def planned(turn: Turn, task: Task, attempt: Attempt, output: Json, log: str | None) -> bool:
    """Take a planner's answer; false if it is no plan, which the next planner is told."""
    settings = settings_of(task.input)
    why = wanted(turn, task)
    again = turn.get(Variable, (task.id, WANTED_AFTER))
    if not turn.cancelling:
        given: Any = parse(output)
        reason = str(why.get("reason", "start"))
        problems = put(turn, task, settings, given, reason=reason, author=attempt.worker_id)
        if problems:
            kept = replace(attempt, output=output)
            not_planned(turn, turn.task(task.id), kept, refused(problems), log)
            return False
    turn.move_attempt(attempt, state=AttemptState.SUCCEEDED, output=output, log=log)
    turn.drop_timer(task.id, "timeout")
    turn.remove(Variable, (task.id, WANTED))
    task = stop_planning(turn, turn.task(task.id), failures=0, moves=0, error=None)
    if again is not None and not turn.cancelling:
        turn.remove(Variable, (task.id, WANTED_AFTER))
        ask(turn, task, again.value)
    else:
        end_if_over(turn, task)
    return True


def stop_planning(turn: Turn, task: Task, **columns: Any) -> Task:
    return turn.move(task, TaskState.RUNNING, queue=None, ready_at=None, due_at=None, **columns)


def end_if_over(turn: Turn, task: Task) -> None:
    """A plan whose tasks have all ended meanwhile comes to its end."""
    pending = any(visit.scope == task.id for visit in turn.visits)
    if not turn.task(task.id).open and not pending:
        end_scope(turn, turn.task(task.id))


def not_planned(
    turn: Turn, task: Task, attempt: Attempt, failure: Failure, log: str | None = None
) -> None:
    """A planning attempt ended without a plan: ask again, within bounds."""
    turn.move_attempt(attempt, state=end_of(failure), error=failure.json(), log=log)
    turn.drop_timer(task.id, "timeout")
    if turn.cancelling:
        end_if_over(turn, stop_planning(turn, task))
        return
    if is_push_back(turn, task, failure):
        push_back(turn, task, attempt, failure)
        return
    lost = failure.kind in NO_OUTCOME
    failures = task.failures + (not lost)
    moves = task.moves + (lost and failure.kind != "returned")
    if failure.kind == "fatal" or failures >= _TRIES or moves > turn.limits.moves_max:
        give_up(turn, task, failure)
        return
    columns: dict[str, Any] = {"failures": failures, "moves": moves, "avoid": attempt.worker_id}
    pause = failure.retry_after_ms or (unreachable_pause_ms(moves) if lost else 0)
    requeue(turn, task, pause, columns)


def give_up(turn: Turn, task: Task, failure: Failure) -> None:
    """There is no plan to go on with: the plan fails, and what runs in it ends."""
    drop_holds(turn, task)
    cancel_below(turn, task.id)
    fail(turn, turn.task(task.id), failure)


def refused(problems: list[Problem]) -> Failure:
    told = "; ".join(str(problem) for problem in problems[:_PROBLEMS_TOLD])
    more = f"; and {len(problems) - _PROBLEMS_TOLD} more" if len(problems) > _PROBLEMS_TOLD else ""
    return Failure("failed", f"the plan is refused: {told}{more}", code="invalid_plan")


def put(
    turn: Turn, task: Task, settings: PlanSettings, given: Any, *, reason: str, author: str
) -> list[Problem]:
    """Put a plan into force: the graph grows, tasks that stand are kept. Returns what is wrong with
    it instead, and changes nothing then."""
    text = encode(given)
    turn.spend(len(text) >> _CHARS_A_STEP)
    plan = read_plan(given, settings.limits, text)
    if not isinstance(plan, Plan):
        return plan
    beyond = too_many(turn, task, settings, plan)
    beyond += [*unknown_envs(turn, plan), *judged_by_pods(settings.profiles, plan)]
    if beyond:
        return beyond
    before = tasks_of(turn.graph, task.node)
    rows = turn.rows(Task, [task_id(task.id, node.path, 0) for node in before])
    stood = [(n, row) for n, row in zip(before, rows.values(), strict=True) if row is not None]
    undone = {node.key for node, row in stood if is_undone(row)}
    patch = patch_of(
        turn.graph,
        task.node,
        plan,
        settings,
        undone,
        anew=all(row.state is TaskState.SUPERSEDED for _, row in stood),
        reason=reason,
        author=author,
        text=text,
    )
    if not (patch.nodes or patch.drop or patch.redo):
        # It says what the graph has already; of that only what counts no longer begins again.
        recount(turn, tasks_within(turn, task.id), task.id)
        return []
    try:
        patch_graph(turn, patch, within=task.id)
    except DefinitionError as error:
        return list(error.problems)
    if reason != "start":
        count_replan(turn, turn.task(task.id))
    return []


def count_replan(turn: Turn, task: Task) -> None:
    settings = settings_of(task.input)
    counted = replace(settings, replanned=settings.replanned + 1)
    turn.move(task, task.state, input=encode(counted))


def unknown_envs(turn: Turn, plan: Plan) -> list[Problem]:
    """What is wrong with the places its tasks are to be done in."""
    needs = {at: env_need(task.env) for at, task in enumerate(plan.tasks)}
    keys = {at: resource_id(turn.tenant, need.resource) for at, need in needs.items()}
    asked = sorted({keys[at] for at, need in needs.items() if need.resource})
    if not asked:
        return []
    rows = turn.rows(EnvResource, asked)
    found: list[Problem] = []
    for at, need in needs.items():
        if need.resource:
            row = rows[keys[at]]
            where = f"tasks[{at}].env_preconditions"
            if row is None or row.status != "active":
                found.append(Problem(where, f'there is no "{need.resource}"', "see env_resources"))
            elif need.kind not in ("", row.kind):
                found.append(Problem(where, f'"{need.resource}" is a {row.kind}'))
    return found


def is_undone(row: Task) -> bool:
    """Whether a task that another plan still has is done again: unless somebody did without it."""
    if row.state is TaskState.CANCELLED:
        return row.action != CANCELLED
    return row.state is TaskState.FAILED


def too_many(turn: Turn, task: Task, settings: PlanSettings, plan: Plan) -> list[Problem]:
    """Bounds of the run that only show with its record."""
    limits = settings.limits
    found: list[Problem] = []
    tasks = len(turn.graph.nodes) + len(plan.tasks)
    if tasks > limits.run_tasks:
        found.append(Problem("tasks", f"{tasks:,} in the run, at most {limits.run_tasks:,}"))
    steps = task.node.split("/")
    above = ("/".join(steps[: at + 1]) for at in range(len(steps)))
    depth = sum(turn.graph.nodes[path].kind is Kind.PLAN for path in above)
    if depth > limits.depth:
        found.append(Problem("plan", f"{depth} plans within each other, at most {limits.depth}"))
    return found


# Planning anew


def wanted(turn: Turn, task: Task) -> dict[str, Any]:
    """Why a plan is being made anew; empty for the first."""
    row = turn.get(Variable, (task.id, WANTED))
    found: dict[str, Any] = {} if row is None else parse(row.value)
    return found


def replan_all(turn: Turn) -> None:
    """Have every plan made anew that something in this turn asked for."""
    while turn.replans:
        replan(turn, turn.replans.pop(0))


def replan(turn: Turn, why: Replan) -> None:
    task = turn.task(why.container)
    if turn.cancelling or task.state not in (
        TaskState.RUNNING,
        TaskState.QUEUED,
        TaskState.WAITING,
    ):
        return
    settings = settings_of(task.input)
    if not settings.may_be_replanned:
        give_up(turn, task, Failure("fatal", replans_spent(settings), code="replan_limit"))
        return
    if why.plan is not None:
        problems = put(turn, task, settings, why.plan, reason=why.reason, author=why.source)
        if problems:
            give_up(turn, turn.task(task.id), refused(problems))
            return
        overtake(turn, turn.task(task.id), answered=why.reason == "hint")
        if not is_planning(turn.task(task.id)):
            end_if_over(turn, turn.task(task.id))
        return
    told = encode({"reason": why.reason, "source_task_id": why.source, "hint": why.hint})
    if is_held(task):
        turn.set_variable(task.id, WANTED_AFTER, told)
    elif is_planning(task):
        turn.set_variable(task.id, WANTED, told)
    else:
        ask(turn, task, told)


def replans_spent(settings: PlanSettings) -> str:
    most = settings.limits.replans
    return f"planned {settings.replanned + 1} times, and may be planned anew {most} times"


def overtake(turn: Turn, task: Task, *, answered: bool) -> None:
    """Another plan stands now. Whoever still plans for the one before is fenced, and asked again
    with what stands; a plan that a person gives is what was asked for."""
    if is_held(task):
        attempt = turn.get(Attempt, attempt_id(task.id, task.attempts))
        assert attempt is not None
        not_planned(turn, task, attempt, Failure("returned", "another plan was given meanwhile"))
        task = turn.task(task.id)
    if not answered or not is_planning(task):
        return
    drop_holds(turn, task)
    turn.drop_timer(task.id, "retry")
    for key in (WANTED, WANTED_AFTER):
        turn.remove(Variable, (task.id, key))
    stop_planning(turn, turn.task(task.id), wait_key=None, parked=None)


def ask(turn: Turn, task: Task, told: Json) -> None:
    """Put a plan's task back into its planner's queue."""
    turn.set_variable(task.id, WANTED, told)
    queue = queue_of(turn, settings_of(task.input).planner)
    turn.move(task, TaskState.QUEUED, queue=queue, ready_at=turn.now)


def cancel(turn: Turn, task: Task) -> bool:
    """Cancel a plan's own waiting; true if a planner has it and is to be asked to stop."""
    task = turn.task(task.id)  # tasks of it may have been cancelled, and counted out, before it
    if is_held(task):
        return True
    if is_planning(task):
        turn.drop_timer(task.id, "retry")
        task = turn.move(task, TaskState.RUNNING, queue=None, due_at=None)
    if not task.open:
        close(turn, turn.move(task, TaskState.CANCELLED))
    return False
