"""Visiting nodes: makes the task and hands it to its kind, until the turn has nowhere to go."""

from collections.abc import Callable, Mapping

from windlass.kernel.nodes import call, choice, fanout, subflow, timer, wait
from windlass.kernel.routing import fail_scope, succeed
from windlass.kernel.turn import Turn
from windlass.kernel.values import Reader
from windlass.model.graph import Kind, Node
from windlass.model.ids import task_id
from windlass.model.rows import Failure, Task
from windlass.model.states import TaskState


def join_visit(turn: Turn, task: Task, node: Node) -> None:
    succeed(turn, turn.make_task(task), task.input or "null", node.action.static)


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
}


def visit_all(turn: Turn) -> None:
    """Visit every node the turn leads to. Nodes that end at once lead to more."""
    while turn.visits:
        scope, path = turn.visits.pop(0)
        turn.visited += 1
        task = new_task(turn, scope, path)
        if turn.visited > turn.limits.visits_per_turn:
            text = f"passed {turn.visited} nodes without waiting or calling anything"
            # What catches this failure is visited too, and fails in turn: so the run itself ends.
            turn.visits.clear()
            fail_scope(turn, turn.make_task(task), Failure("fatal", text, path))
            continue
        VISIT[turn.graph.nodes[path].kind](turn, task, turn.graph.nodes[path])


def new_task(turn: Turn, scope: str, path: str) -> Task:
    """The next task of a scope, not yet written: its kind gives it a state and makes it."""
    node = turn.graph.nodes[path]
    run = turn.run
    step = (run.made if scope == run.id else turn.task(scope).made) + 1
    if scope == run.id:
        turn.set_run(node=path)
    return Task(
        id=task_id(scope, path, step),
        run_id=run.id,
        scope=scope,
        node=path,
        kind=node.kind,
        state=TaskState.PENDING,
        step=step,
        priority=run.priority,
        input=Reader(turn, scope, path, None).build(node.input),
        made_seq=turn.seq,
        created_at=turn.now,
    )
