"""How a task ends and where the run goes from there.

Every node kind ends its tasks through `succeed` or `fail`. Both write the result where the
definition says, choose the edge, queue the next visit and close the task in its scope; the last
task to close ends the scope, which may end the container around it, and so on up to the run.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from windlass.kernel.asking import about_failure
from windlass.kernel.blackboard import say_result
from windlass.kernel.conditions import Facts
from windlass.kernel.ending import end_run
from windlass.kernel.leases import is_planning
from windlass.kernel.planning.lower import tasks_of
from windlass.kernel.planning.settings import settings_of
from windlass.kernel.schemas import flaw_of
from windlass.kernel.scopes import cancel_below, drop_holds
from windlass.kernel.turn import Replan, Turn, Visit, container_of
from windlass.kernel.values import encode, parse
from windlass.model.graph import Edge, Graph, Kind, Node, Strategy
from windlass.model.ids import branch_id, task_id
from windlass.model.rows import Failure, Json, Task, Variable, read_failure
from windlass.model.states import RunState, TaskState
from windlass.model.values import is_object
from windlass.model.work_answers import kept_answer

WITHOUT = "continue"
"""The action of a task of a plan that failed and was gone on without."""
CANCELLED = "cancelled"
"""The action of a task that somebody did without: what comes after it knows, and so does a redo."""


def succeed(turn: Turn, task: Task, output: Json, action: str) -> None:
    """End a task with a result and go on along the edge its action names."""
    node = turn.node(task)
    write_output(turn, task, node, output)
    action = action or node.action.default
    task = turn.move(task, TaskState.SUCCEEDED, output=output, action=action)
    if node.planned is not None:
        say_result(turn, task)
    if turn.cancelling or task.idx >= 0:
        close(turn, task)
        return
    note_position(turn, task)
    leave(turn, task, edges_taken(turn, task))
    close(turn, task)


def fail(
    turn: Turn,
    task: Task,
    failure: Failure,
    output: Json | None = None,
    *,
    decided: bool = False,
) -> None:
    """End a task in failure; the run goes on only along an edge that allows for it.

    `output` is what a container had gathered: it is written even though the container failed. Where
    a person has `decided` that it fails, nobody is asked again.
    """
    node = turn.node(task)
    if not failure.node:
        failure = msgspec.structs.replace(failure, node=node.path)
    if asks(turn, task, node) and not decided:
        about_failure(turn, task, failure)
        return
    if output is not None:
        write_output(turn, task, node, output)
    if turn.cancelling:
        turn.move(task, TaskState.CANCELLED, error=failure.json())
        close(turn, task)
        return
    task = turn.move(
        task,
        TaskState.FAILED,
        error=failure.json(),
        output=output,
        action=node.action.static,
    )
    if task.idx >= 0:
        close(turn, task)
        return
    note_position(turn, task)
    edge = failure_edge(turn.graph, node, failure)
    if node.planned is not None:
        say_result(turn, task)
        fail_planned(turn, task, failure)
    elif node.awaited:
        close(turn, task)
    elif edge is not None:
        leave(turn, task, [edge])
        close(turn, task)
    else:
        fail_scope(turn, task, failure)


def asks(turn: Turn, task: Task, node: Node) -> bool:
    """Whether it is for a person to say what a failure means."""
    if node.planned is None or node.planned.on_failure != "ask" or turn.cancelling:
        return False
    return task.attempts > 0 and not any(replan.source == task.id for replan in turn.replans)


def fail_planned(turn: Turn, task: Task, failure: Failure) -> None:
    """A task of a plan has failed: what that means for the rest is its policy's to say."""
    planned = turn.node(task).planned
    assert planned is not None
    if any(replan.source == task.id for replan in turn.replans):
        close(turn, task)
    elif planned.on_failure == "replan":
        turn.replans.append(Replan(task.scope, "replan", task.id, failure.message))
        close(turn, task)
    elif planned.on_failure == "continue":
        go_on_without(turn, task)
    else:
        fail_scope(turn, task, failure)


def go_on_without(turn: Turn, task: Task) -> None:
    """A task of a plan has failed, and the rest goes on; what depends on it is skipped."""
    task = turn.move(task, TaskState.FAILED, action=WITHOUT)
    leave(turn, task, [])
    close(turn, task)


def skip(turn: Turn, task: Task, output: Json | None = None) -> None:
    """End a task that is not to be done, and tell what comes after it."""
    task = turn.move(task, TaskState.SKIPPED, output=output)
    if turn.cancelling or task.idx >= 0:
        close(turn, task)
        return
    node = turn.node(task)
    if node.next and not node.awaited:
        skip_host(turn, task)
        return
    leave(turn, task, [])
    close(turn, task)


def skip_host(turn: Turn, outermost: Task) -> None:
    """The first of a chain of middlewares was skipped, so what it stands before is skipped too."""
    turn.count_scope(outermost.scope, open=-1)
    host = turn.task(outermost.scope)
    turn.drop_timer(host.id, "timeout")
    skip(turn, host, subflow_output(turn, host))


def is_settled(graph: Graph, task: Task) -> bool:
    """Whether a task ended so that what comes after it knows: a failure only if it was caught."""
    planned = graph.nodes[task.node].planned
    if task.state is TaskState.FAILED and planned is not None:
        return task.action == WITHOUT
    if task.state is TaskState.FAILED:
        return failure_edge(graph, graph.nodes[task.node], failure_of(task)) is not None
    if task.state is TaskState.CANCELLED:
        return task.action == CANCELLED
    return task.state in (TaskState.SUCCEEDED, TaskState.SKIPPED)


def edges_taken(turn: Turn, task: Task) -> list[Edge]:
    """The edges that fired when a task ended."""
    node = turn.node(task)
    edge: Edge | None = None
    if task.state is TaskState.SUCCEEDED:
        if node.fires_all:
            return fired_edges(turn, task)
        edge = choose_edge(turn.graph, node, task.action, "default")
    elif task.state is TaskState.FAILED and node.planned is None:
        edge = failure_edge(turn.graph, node, failure_of(task))
    return [edge] if edge is not None else []


def failure_of(task: Task) -> Failure:
    return read_failure(task.error) or Failure("failed", "unknown")


def fired_edges(turn: Turn, task: Task) -> list[Edge]:
    """The edges that a task which fires all of them does fire: those whose conditions hold."""
    facts = Facts(turn, task.input, task.output)
    return [
        edge
        for edge in turn.graph.edges.get(task.node, ())
        if edge.on in ("default", task.action) and facts.hold(edge.when)
    ]


def choose_edge(graph: Graph, node: Node, *actions: str) -> Edge | None:
    """The first edge for the first action that has one."""
    edges = graph.edges.get(node.path, ())
    for action in actions:
        for edge in edges:
            if action and edge.on == action:
                return edge
    return None


def failure_edge(graph: Graph, node: Node, failure: Failure) -> Edge | None:
    named = ("timeout", "error") if failure.kind == "timeout" else ("error",)
    edge = choose_edge(graph, node, *named)
    if edge is None and not graph.fails_run:
        edge = choose_edge(graph, node, node.action.static, "default")
    return edge


def leave(turn: Turn, task: Task, fired: Sequence[Edge]) -> None:
    """Send tokens along the edges that fired. Nodes that wait for all their edges also learn of
    those that did not."""
    joins = turn.graph.joins
    if not joins:
        turn.visits += [Visit(task.scope, edge.target) for edge in fired if edge.target is not None]
        return
    edges = turn.graph.edges.get(task.node, ())
    taken = {id(edge) for edge in fired}
    for edge in edges:
        if edge.target is not None and (id(edge) in taken or edge.target in joins):
            turn.visits.append(Visit(task.scope, edge.target, id(edge) in taken))
    # Those that others lead to as well may have a task already, and after a redo any of them may:
    # look for all of them at once.
    few = 0 if turn.redone else 1
    shared = {edge.target for edge in edges if edge.target and joins.get(edge.target, 0) > few}
    turn.rows(Task, [task_id(task.scope, path, 0) for path in sorted(shared)])


def note_position(turn: Turn, task: Task) -> None:
    """Show on the run where its newest top-level step was and what it said."""
    if task.scope == task.run_id:
        turn.set_run(action=task.action)


def write_output(turn: Turn, task: Task, node: Node, output: Json) -> None:
    """Write a result to the shared keys the node names. A branch has none: its container does."""
    if node.kind is Kind.FOREACH and task.input in (None, "null"):
        return  # There was nothing to go through: what came of it is not an empty list.
    if node.output.fields:
        result = parse(output)
        fields = result if is_object(result) else {}
        for key, field in node.output.fields.items():
            turn.set_variable(task.scope, key, encode(fields.get(field)))
    if node.output.key:
        turn.set_variable(task.scope, node.output.key, output)


def close(turn: Turn, task: Task) -> None:
    """Count a task out of its scope; the last one ends the scope."""
    if task.idx >= 0:
        close_branch(turn, task)
        return
    end_if_last(turn, task, turn.count_scope(task.scope, open=-1))


def end_if_last(turn: Turn, task: Task, left: int) -> None:
    """End the scope of a task that has ended, if none is `left` there and none on its way."""
    if left > 0 or any(visit.scope == task.scope for visit in turn.visits):
        return
    container = container_of(turn, task)
    if container is not None:
        wanted = any(replan.container == container.id for replan in turn.replans)
        if not is_planning(container) and not wanted:
            end_scope(turn, container)
    elif turn.cancelling:
        end_run(turn, RunState.CANCELLED)
        turn.drop_timer(task.run_id, "cancel")
    else:
        end_run(turn, RunState.SUCCEEDED)


def fail_scope(turn: Turn, task: Task, failure: Failure) -> None:
    """A task failed and nothing catches it: its scope fails with it."""
    turn.count_scope(task.scope, open=-1)
    cancel_below(turn, task.scope)
    container = container_of(turn, task)
    if container is None:
        end_run(turn, RunState.FAILED, error=failure.json())
        return
    turn.drop_timer(container.id, "timeout")
    if container.kind == Kind.PLAN:
        drop_holds(turn, container)
        fail(turn, turn.task(container.id), failure)
        return
    container = turn.task(container.id)
    shared = subflow_output(turn, container)
    if turn.node(container).strategy is Strategy.CONTINUE:
        succeed(turn, container, shared, subflow_action(turn, container))
    else:
        fail(turn, container, failure, shared)


# Containers


def subflow_output(turn: Turn, container: Task) -> Json:
    """What a subflow hands out: the shared state of its scope."""
    values = turn.variables(container.id)
    return encode({key: msgspec.Raw(row.value.encode()) for key, row in values.items()})


def subflow_action(turn: Turn, container: Task) -> str:
    rule = turn.node(container).action
    if rule.static or not rule.key:
        return rule.static
    row = turn.get(Variable, (container.id, rule.key))
    return text_action(parse(row.value) if row is not None else None)


def text_action(value: Any) -> str:
    """An action somebody named; other values name none. A database keeps no NUL in a text."""
    return value.replace("\0", "") if isinstance(value, str) else ""


def end_scope(turn: Turn, container: Task) -> None:
    """Everything in a subflow or a plan has ended, and so does it."""
    turn.drop_timer(container.id, "timeout")
    if turn.cancelling:
        turn.move(container, TaskState.CANCELLED)
        close(turn, container)
    elif container.kind == Kind.PLAN:
        end_plan(turn, container)
    else:
        output = subflow_output(turn, container)
        succeed(turn, container, output, subflow_action(turn, container))


def end_plan(turn: Turn, container: Task) -> None:
    """Hand out what a plan came to, if it has the shape that was asked for."""
    output = plan_output(turn, container)
    schema = settings_of(container.input).output_schema
    flaw = flaw_of(output, encode(schema), "output") if schema is not None else ""
    if flaw:
        fail(turn, container, Failure("fatal", flaw, code="invalid_output"))
    else:
        succeed(turn, container, encode(output), plan_action(turn.node(container), output))


def plan_action(node: Node, output: Any) -> str:
    """The action that a plan's output stands for, as with a call's result."""
    if node.action.static or not node.action.key or not is_object(output):
        return node.action.static
    return text_action(output.get(node.action.key))


def plan_output(turn: Turn, container: Task) -> Any:
    """The output of the task with the role `final`, else that of every leaf by its alias."""
    nodes = [node for node in tasks_of(turn.graph, container.node) if node.planned is not None]
    final = [node for node in nodes if node.planned is not None and node.planned.role == "final"]
    leaves = final or [node for node in nodes if not turn.graph.edges.get(node.path)]
    ids = {node.key: task_id(container.id, node.path, 0) for node in leaves}
    rows = turn.rows(Task, list(ids.values()))
    found: dict[str, Any] = {}
    for alias, key in ids.items():
        row = rows[key]
        if row is not None and row.state is TaskState.SUCCEEDED:
            found[alias] = kept_answer(row.output).structured_output
    return found.get(final[0].key) if final else found


def close_branch(turn: Turn, branch: Task) -> None:
    """Count a branch out; release or join as the fan-out's rules say."""
    container = turn.task(branch.scope)
    node = turn.node(container)
    failed = branch.state is TaskState.FAILED
    turn.count_scope(container.id, open=-1, failed=int(failed))
    container = turn.task(container.id)
    if failed and node.strategy is Strategy.FAIL_FAST and not turn.cancelling:
        cancel_below(turn, container.id)
        join(turn, turn.task(container.id))
        return
    if container.open == 0 and (container.made == container.total or turn.cancelling):
        join(turn, container)
    elif not turn.cancelling:
        release_next(turn, container, node)


def release_next(turn: Turn, container: Task, node: Node) -> None:
    """Let the next waiting branch go; ask for more branches when none is left made."""
    if container.released < container.made:
        branch = turn.task(branch_id(container.id, container.released))
        turn.move(branch, TaskState.QUEUED, ready_at=turn.now)
        turn.count_scope(container.id, released=1)
    elif asks_for_more(container, branches_at_once(node), turn.limits.branches_open):
        turn.set_timer(container.id, "expand", turn.now)


def asks_for_more(container: Task, bound: int, open_max: int) -> bool:
    """Whether a fan-out whose branches are all let go is to make more. Without a bound of its own
    it makes slice after slice until it is full, and is asked again once."""
    half = open_max // 2
    if container.made == container.total:
        return False
    if bound == 0:
        return container.open in (half, 0)
    return bound < open_max or container.open <= half


def branches_at_once(node: Node) -> int:
    """Most branches of a fan-out that may be out together; 0 is no bound."""
    return node.parallel_max if node.concurrent else 1


def join(turn: Turn, container: Task) -> None:
    """All branches have ended: gather their results in order and end the fan-out."""
    turn.drop_timer(container.id, "expand")
    if turn.cancelling:
        turn.move(container, TaskState.CANCELLED)
        close(turn, container)
        return
    node = turn.node(container)
    output, first_error = gather(turn, container, node.strategy)
    tolerant = (Strategy.COLLECT_ERRORS, Strategy.IGNORE_ERRORS, Strategy.CONTINUE)
    if container.failed and node.strategy not in tolerant:
        noun = "item" if node.kind is Kind.FOREACH else "branch"
        cause = first_error or Failure("failed", "unknown")
        text = f"{container.failed} of {container.total}: {noun} failed: {cause.message}"
        fail(turn, container, Failure(cause.kind, text), output)
    else:
        # An array has no fields, so an action key can name nothing in it.
        succeed(turn, container, output, node.action.static)


def gather(turn: Turn, container: Task, strategy: Strategy) -> tuple[Json, Failure | None]:
    """The aggregate of a fan-out as JSON text, joined without parsing any result."""
    if not container.made:
        return "[]", None
    parts: list[str] = []
    first_error: Failure | None = None
    for _, state, output, error in turn.branch_results(container.id):
        if state is TaskState.SUPERSEDED:
            continue  # A redo has fewer items than there were before.
        if state is TaskState.SUCCEEDED:
            parts.append(output or "null")
            continue
        if state is TaskState.FAILED and error is not None and first_error is None:
            first_error = msgspec.json.decode(error, type=Failure)
        if strategy is Strategy.COLLECT_ERRORS:
            parts.append(f'{{"error":{error or "null"}}}')
        elif strategy not in (Strategy.FAIL_FAST, Strategy.IGNORE_ERRORS):
            parts.append("null")
    return f"[{','.join(parts)}]", first_error
