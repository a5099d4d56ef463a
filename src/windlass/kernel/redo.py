"""Doing a task again: alone, or together with everything that came after it.

Nothing is overwritten. Tasks that are to be redone become `superseded`, ended containers around
them and the run itself are reopened under a new generation, and shared keys go back to what they
were when the task was first visited, told from the results that remain.
"""

from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from windlass.kernel.leases import WANTED_AFTER, is_planning
from windlass.kernel.routing import branches_at_once, release_next, write_output
from windlass.kernel.scopes import drop_holds
from windlass.kernel.turn import WANTED, Turn, Visit
from windlass.model.errors import Conflict, NotFound
from windlass.model.graph import SCOPES, Kind, Root
from windlass.model.ids import scope_of
from windlass.model.rows import Task, Variable
from windlass.model.states import RUN_ENDED, TASK_ENDED, RunState, TaskState


def redo(turn: Turn, task_id: str | None, descendants: bool, also: Sequence[str] = ()) -> Task:
    """Reopen a run at a task, and at failed branches beside it; returns the task that is done
    again."""
    run = turn.run
    if run.state is RunState.CANCELLING:
        raise Conflict(f"run {run.id} is being cancelled; retry it once it is cancelled")
    tasks = [turn.task(task.id) for task in turn.view.all_tasks(run.id)]
    task = find_task(tasks, task_id, run.id)
    check_begun(turn, task)
    later = descendants_of(tasks, task)
    if not descendants:
        check_alone(run.state, task, later)
    for row in later:
        supersede(turn, row)
    restore_variables(turn, tasks, task, {row.id for row in later})
    reopen_around(turn, task)
    revisit(turn, turn.task(task.id))
    if task.idx >= 0:
        revisit_beside(turn, task, also)
        let_go(turn, turn.task(task.scope))
    return task


def revisit_beside(turn: Turn, branch: Task, also: Sequence[str]) -> None:
    """Do other branches of the same fan-out again that failed."""
    for row in turn.rows(
        Task, [other for other in also if scope_of(other) == branch.scope]
    ).values():
        if row is not None and row.kind == Kind.CALL and row.state is TaskState.FAILED:
            revisit(turn, row)


def find_task(tasks: Sequence[Task], task_id: str | None, run_id: str) -> Task:
    """The task of that id, the newest of that node, or without either the newest failed leaf."""
    if task_id is not None:
        named = [t for t in tasks if t.id == task_id or (t.node == task_id and t.idx < 0)]
        if not named:
            raise NotFound(f'run {run_id} has no task "{task_id}"; list them with `run show`')
        standing = [task for task in named if task.state is not TaskState.SUPERSEDED]
        if not standing:
            raise Conflict(f'task "{task_id}" was superseded; name one that still stands')
        return newest(standing)
    failed = [task for task in tasks if task.state in (TaskState.FAILED, TaskState.CANCELLED)]
    if not failed:
        raise Conflict(f"run {run_id} has no failed task; name the task to retry from")
    # The failure that ended the run: the outermost task that ended last, or what failed inside it.
    last = max(failed, key=lambda row: (row.ended_seq, -row.id.count("~")))
    inside = [
        task
        for task in failed
        if task.state is TaskState.FAILED and task.id.startswith(last.id + "~")
    ]
    deepest = max((task.id.count("~") for task in inside), default=0)
    return newest([t for t in inside if t.id.count("~") == deepest] or [last])


def newest(tasks: Iterable[Task]) -> Task:
    return max(tasks, key=lambda task: (task.made_seq, task.step, task.idx))


def descendants_of(tasks: Sequence[Task], task: Task) -> list[Task]:
    """Everything made after a task, in its scope or in a scope around it, and what is inside.

    A task's own children count too: visiting a container again makes new ones.
    """
    heads = [task.id + "~"]
    if task.idx < 0 and task.kind != Kind.CALL:
        heads.append(task.id)
    inner = task
    while True:
        scope = scope_of(inner.id)
        if inner.idx < 0:
            heads += [t.id for t in tasks if t.scope == scope and after(t, inner)]
        outer = next((t for t in tasks if t.id == scope), None)
        if outer is None:
            break
        inner = outer
    tops = {head.rstrip("~") for head in heads}
    whole = {head for head in heads if not head.endswith("~")}
    later = [
        row
        for row in tasks
        if row.state is not TaskState.SUPERSEDED
        and (row.id in whole or any(place in tops for place in places_above(row.id)))
    ]
    return [row for row in later if row.id != task.id or row.kind != Kind.CALL]


def places_above(task_id: str) -> Iterator[str]:
    """The ids of the containers around a task, innermost first."""
    place = scope_of(task_id)
    while place:
        yield place
        place = scope_of(place)


def after(task: Task, other: Task) -> bool:
    return task.step > other.step


def check_begun(turn: Turn, task: Task) -> None:
    """A branch that waits for its turn will be done anyway; one turn of it is all it gets."""
    if task.state is TaskState.PENDING:
        raise Conflict(f"task {task.id} has not begun; there is nothing to do again")


def check_alone(state: RunState, task: Task, later: Sequence[Task]) -> None:
    if task.state not in (TaskState.FAILED, TaskState.CANCELLED):
        raise Conflict(f"task {task.id} is {task.state}, not failed; use retry from to redo it")
    beyond = [row for row in later if row.id != task.id and not row.id.startswith(task.id + "~")]
    if beyond or state not in RUN_ENDED:
        raise Conflict(f"the run went on after task {task.id} failed; use retry from to redo both")


def supersede(turn: Turn, task: Task) -> None:
    if task.state in TASK_ENDED:
        turn.move(task, TaskState.SUPERSEDED, generation=task.generation + 1)
        return
    drop_holds(turn, task)
    turn.move(turn.task(task.id), TaskState.SUPERSEDED, open=0)
    if task.idx < 0 and scope_is_open(turn, task):
        turn.count_scope(task.scope, open=-1)


def scope_is_open(turn: Turn, task: Task) -> bool:
    """Whether a task's container has not ended; the run itself is opened last."""
    if task.scope == task.run_id:
        return True
    return turn.task(task.scope).state not in TASK_ENDED


def restore_variables(turn: Turn, tasks: Sequence[Task], task: Task, dropped: set[str]) -> None:
    """Set the shared keys of every scope the redo touches to what they were at the task."""
    # What an earlier redo superseded is not said any more, nor what is open again from here on.
    restore_scopes(
        turn, tasks, set(places_above(task.id)), {*dropped, task.id, *places_above(task.id)}
    )


def is_wish(turn: Turn, scope: str, key: str) -> bool:
    """Whether a key says why a plan is being made anew: no task said it, and it still holds."""
    task = turn.get(Task, scope) if key in (WANTED, WANTED_AFTER) else None
    return task is not None and is_planning(task)


def restore_scopes(turn: Turn, tasks: Sequence[Task], scopes: set[str], dropped: set[str]) -> None:
    """Set the shared keys of scopes to what the tasks that were not dropped say."""
    for row in scopes:
        for key in turn.variables(row):
            if not is_wish(turn, row, key):
                turn.remove(Variable, (row, key))
    kept = [
        t
        for t in tasks
        if t.scope in scopes and t.id not in dropped and t.state is not TaskState.SUPERSEDED
    ]
    # A task that ended with nothing to do may have left an output, which was never written.
    writes: list[tuple[int, Task | tuple[str, str]]] = [
        (t.ended_seq, t)
        for t in kept
        if t.output is not None and t.idx < 0 and t.ended_seq and t.state is not TaskState.SKIPPED
    ]
    if turn.run_id in scopes:
        writes += [(seq, (key, value)) for seq, key, value in turn.view.signals(turn.run_id)]
    for _, source in sorted(writes, key=lambda write: write[0]):
        if isinstance(source, Task):
            write_signal(turn, source)
            write_output(turn, source, turn.node(source), source.output or "null")
        else:
            turn.set_variable(turn.run_id, source[0], source[1])


def write_signal(turn: Turn, task: Task) -> None:
    """What a wait or an approval got stands under the key it waited for, in its own scope."""
    ref = turn.node(task).signal
    if ref is not None and ref.root is Root.SHARED and len(ref.path) == 1:
        turn.set_variable(task.scope, str(ref.path[0]), task.output or "null")


def reopen_around(turn: Turn, task: Task) -> None:
    """Open every ended scope around a task, outermost last, and the run itself."""
    scope = task.scope
    while scope != turn.run_id:
        container = turn.task(scope)
        if container.state in TASK_ENDED:
            reopen_container(turn, container)
        scope = scope_of(scope)
    run = turn.run
    if run.state in RUN_ENDED:
        if run.quota:
            turn.taken.append(run)
        turn.set_run(
            state=RunState.RUNNING,
            generation=run.generation + 1,
            started_at=run.started_at or turn.now,
            error=None,
            finished_at=None,
        )


def reopen_container(turn: Turn, container: Task) -> None:
    timeout_ms = turn.node(container).timeout_ms if container.kind == Kind.SUBFLOW else 0
    due_at = turn.now + timeout_ms if timeout_ms else None
    container = turn.move(
        container,
        TaskState.RUNNING,
        generation=container.generation + 1,
        error=None,
        due_at=due_at,
        finished_at=None,
        ended_seq=0,
    )
    turn.count_scope(container.scope, open=1)
    if due_at is not None:
        turn.set_timer(container.id, "timeout", due_at)
    if container.kind not in SCOPES:
        reopen_branches(turn, container)


def reopen_branches(turn: Turn, container: Task) -> None:
    """Branches that were cancelled with their fan-out get their turn after all."""
    reopened = 0
    for row in turn.view.all_tasks(container.run_id):
        branch = turn.task(row.id)
        if branch.scope == container.id and branch.state is TaskState.CANCELLED:
            released = branch.idx < container.released
            turn.move(
                branch,
                TaskState.QUEUED if released else TaskState.PENDING,
                generation=branch.generation + 1,
                ready_at=turn.now if released else None,
                error=None,
                finished_at=None,
                ended_seq=0,
            )
            reopened += 1
    turn.count_scope(container.id, open=reopened)
    if container.made < container.total and not branches_at_once(turn.node(container)):
        turn.set_timer(container.id, "expand", turn.now)


def let_go(turn: Turn, container: Task) -> None:
    """Release branches that wait while there is room for them."""
    bound = branches_at_once(turn.node(container))
    while container.released < container.made:
        out = container.released - (container.made - container.open)
        if bound and out >= bound:
            return
        release_next(turn, container, turn.node(container))
        container = turn.task(container.id)


def revisit(turn: Turn, task: Task) -> None:
    """Do the task again: a call gets a fresh set of tries, anything else is visited anew."""
    if task.kind != Kind.CALL:
        turn.visits.append(Visit(task.scope, task.node))
        return
    if task.state is TaskState.PENDING:
        return  # It was reopened with its fan-out and waits for its turn.
    was_failed = task.state is TaskState.FAILED
    ended = task.state in TASK_ENDED
    if not ended:
        drop_holds(turn, task)
        task = turn.task(task.id)
    fresh = replace(task, failures=0, moves=0, claim=0, wait_key=None)
    turn.move(
        fresh,
        TaskState.QUEUED,
        generation=task.generation + int(ended),
        ready_at=turn.now,
        avoid=None,
        output=None,
        error=None,
        action="",
        due_at=None,
        finished_at=None,
        ended_seq=0,
    )
    if ended:
        deltas = {"open": 1}
        if task.idx >= 0 and was_failed:
            deltas["failed"] = -1
        turn.count_scope(task.scope, **deltas)
