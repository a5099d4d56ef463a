"""Visiting nodes: makes the task and hands it to its kind, until the turn has nowhere to go."""

from collections.abc import Callable, Mapping

from msgspec.structs import replace

from windlass.kernel.entry import may_begin
from windlass.kernel.fills import task_input
from windlass.kernel.nodes import call, choice, fanout, plan, subflow, timer, wait
from windlass.kernel.routing import end_if_last, fail_scope, skip, succeed
from windlass.kernel.superseded import take_up_again
from windlass.kernel.turn import Turn, Visit
from windlass.model.graph import Kind, Node
from windlass.model.ids import task_id
from windlass.model.rows import Failure, Task
from windlass.model.states import TaskState


def join_visit(turn: Turn, task: Task, node: Node) -> None:
    succeed(turn, turn.make_task(task), task.input or "null", node.action.static)


VISIT_STEPS = 10
"""What passing a node costs, in values read."""

VISIT: Mapping[Kind, Callable[[Turn, Task, Node], None]] = {
    Kind.CALL: call.visit,
    Kind.CHOICE: choice.visit,
    Kind.PARALLEL: fanout.visit,
    Kind.FOREACH: fanout.visit,
    Kind.SUBFLOW: subflow.visit,
    Kind.TIMER: timer.visit,
    Kind.WAIT: wait.visit,
    Kind.APPROVAL: wait.visit,
    Kind.JOIN: join_visit,
    Kind.PLAN: plan.visit,
}


def visit_all(turn: Turn) -> None:
    """Visit every node the turn leads to. Nodes that end at once lead to more."""
    while turn.visits:
        visit = turn.visits.pop(0)
        node = turn.graph.nodes[visit.path]
        turn.visited += 1
        turn.spend(VISIT_STEPS)
        if visit.path in turn.graph.joins:
            task = arrive(turn, visit)
            if task is None:
                continue
        else:
            task = next_task(turn, visit.scope, visit.path)
        if turn.visited > turn.limits.visits_per_turn or goes_round(turn, visit):
            text = f"passed {turn.visited} nodes without waiting or calling anything"
            # What catches this failure is visited too, and fails in turn: so the run itself ends.
            turn.visits.clear()
            fail_scope(turn, turn.make_task(task), Failure("fatal", text, visit.path))
            continue
        VISIT[node.kind](turn, task, node)


def goes_round(turn: Turn, visit: Visit) -> bool:
    """Whether the turn comes by a node again and again. Most turns are too short to be counted."""
    rounds_max = turn.limits.rounds_per_turn
    if turn.visited <= rounds_max:
        return False
    place = visit.scope, visit.path
    turn.rounds[place] = turn.rounds.get(place, 0) + 1
    return turn.rounds[place] > rounds_max


def arrive(turn: Turn, visit: Visit) -> Task | None:
    """Count an edge in at a node that waits for all of them.

    The first to arrive makes the task, pending; the last lets it begin, or skips it if none of
    them fired; a task of a plan needs all it depends on. Returns the task when it is to be visited
    now.
    """
    single = turn.graph.joins[visit.path] == 1 and not turn.redone
    task = only_edge(turn, visit) if single else one_edge(turn, visit)
    if task is None:
        return None
    node = turn.graph.nodes[visit.path]
    needed = 1 if node.planned is None else turn.graph.joins[visit.path]
    if task.edges_fired < needed:
        skip(turn, turn.make_task(task))
        return None
    task = replace(task, input=task_input(turn, visit.scope, node))
    return task if may_begin(turn, task, node) else None


def only_edge(turn: Turn, visit: Visit) -> Task:
    """The task at the end of a single edge: nothing can have made it before, so nobody looks."""
    fresh = new_task(turn, visit.scope, visit.path, waits=True)
    return replace(fresh, edges_fired=int(visit.fired))


def one_edge(turn: Turn, visit: Visit) -> Task | None:
    """Count one of several edges in; the task if it was the last of them. One that was superseded
    is visited again, and counts the edges that are still to come."""
    task = turn.get(Task, task_id(visit.scope, visit.path, 0))
    if task is None and turn.graph.joins[visit.path] == 1:
        return only_edge(turn, visit)
    if task is None:
        fresh = new_task(turn, visit.scope, visit.path, waits=True)
        task = turn.make_task(replace(fresh, edges_open=turn.graph.joins[visit.path]))
    elif task.state is TaskState.SUPERSEDED:
        task = take_up_again(turn, task)
    elif task.state is TaskState.CANCELLED:
        # Somebody did without it before its turn came, and what comes after it knows.
        end_if_last(turn, task, turn.count_scope(task.scope, open=0))
        return None
    task = turn.move(
        task,
        task.state,
        edges_open=task.edges_open - 1,
        edges_fired=task.edges_fired + visit.fired,
    )
    if task.edges_open:
        return None
    turn.joined.add(task.id)
    return task


def next_task(turn: Turn, scope: str, path: str) -> Task:
    """The task of a token's visit: a new one or, where a redo has gone back in a graph with joins,
    the one that an earlier visit of the same step left superseded."""
    if not (turn.redone and turn.graph.counts_edges):
        return new_task(turn, scope, path)
    fresh = new_task(turn, scope, path)
    known = turn.get(Task, fresh.id)
    while known is not None and known.state is not TaskState.SUPERSEDED:
        fresh = replace(fresh, id=task_id(scope, path, fresh.step + 1), step=fresh.step + 1)
        known = turn.get(Task, fresh.id)
    if known is None:
        return fresh
    turn.joined.add(known.id)
    return replace(take_up_again(turn, known), input=fresh.input)


def new_task(turn: Turn, scope: str, path: str, *, waits: bool = False) -> Task:
    """The next task of a scope, not yet written: its kind gives it a state and makes it.

    A node that waits for all its edges has one task in a scope, so its id counts no steps.
    """
    node = turn.graph.nodes[path]
    top = scope == turn.run_id
    step = (turn.column("made") if top else turn.task(scope).made) + 1
    if top:
        turn.set_run(node=path)
    return Task(
        id=task_id(scope, path, 0 if waits else step),
        run_id=turn.run_id,
        scope=scope,
        node=path,
        kind=node.kind,
        state=TaskState.PENDING,
        step=step,
        priority=turn.column("priority"),
        input=None if waits else task_input(turn, scope, node),
        made_seq=turn.seq,
        created_at=turn.now,
    )
