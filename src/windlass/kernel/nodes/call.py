"""Call nodes: work that somebody else does, under a lease, with retries."""

from typing import Any

import msgspec

from windlass.kernel import envs, verifying
from windlass.kernel.briefs import feedback_of, work_brief
from windlass.kernel.events import Claim
from windlass.kernel.leases import end_of, give, lease
from windlass.kernel.limits import NoLimitKey, is_limited, limits_of
from windlass.kernel.placement import claimed, place, queue_of, released
from windlass.kernel.push_back import is_push_back, push_back
from windlass.kernel.requeue import requeue, unreachable_pause_ms
from windlass.kernel.results import result_action, take
from windlass.kernel.retry import pause_ms
from windlass.kernel.routing import close, fail, skip, succeed
from windlass.kernel.scopes import release_called
from windlass.kernel.turn import Turn, container_of
from windlass.kernel.values import encode, params_text
from windlass.model.assignment import Assignment, Chain
from windlass.model.graph import Graph, Node, Strategy
from windlass.model.notes import AttemptNotes
from windlass.model.resources import ConflictingPins
from windlass.model.rows import Attempt, Failure, Json, Task
from windlass.model.states import AttemptState, TaskState


def visit(turn: Turn, task: Task, node: Node) -> None:
    """Queue the work. Whoever claims it next makes the attempt."""
    try:
        queue = place(turn, task, node)
    except ConflictingPins as conflict:
        failure = Failure("fatal", str(conflict), code="E.RESOURCE.CONFLICT")
        fail(turn, turn.make_task(task), failure)
        return
    if is_limited(turn, node):
        try:
            task = msgspec.structs.replace(task, limits=limits_of(turn, task, node))
        except NoLimitKey as error:
            fail(turn, turn.make_task(task), Failure("fatal", str(error), code="limit_key"))
            return
    priority = task.priority + (node.planned.priority if node.planned is not None else 0)
    turn.make_task(
        msgspec.structs.replace(
            task, state=TaskState.QUEUED, queue=queue, ready_at=turn.now, priority=priority
        )
    )


def claim(turn: Turn, task: Task, by: Claim) -> Assignment:
    """Lease a queued task: a new attempt under a new epoch."""
    node = turn.node(task)
    number = task.attempts + 1
    turn.move(task, TaskState.RUNNING, attempts=number, started_at=task.started_at or turn.now)
    attempt = lease(turn, task, by)
    session = envs.bind(turn, task, attempt) if task.env else None
    claimed(turn, task, node, by.worker_id)
    if node.timeout_ms:
        turn.set_timer(task.id, "timeout", turn.now + node.timeout_ms)
    return Assignment(
        attempt_id=attempt.id,
        run_id=task.run_id,
        task_id=task.id,
        node=task.node,
        number=number,
        queue=attempt.queue,
        input=task.input or "null"
        if node.planned is None
        else give(turn, attempt, work_brief(turn, task, node, envs.told(session))),
        params=params_text(turn, task.node) if node.planned is None else "{}",
        lease_until=attempt.lease_until,
        claimed_at=turn.now,
        timeout_ms=node.timeout_ms,
        script=node.target.script if node.target else None,
        seq=turn.seq,
        target=node.target,
        affinity=node.affinity,
        chain=chain_of(turn.graph, node) if node.next or node.awaited else None,
        worker_id=by.worker_id,
        worker_url=by.worker_url,
        feedback=feedback_of(turn, task) if task.claim else "",
        env=encode(envs.told(session)) if session is not None else "",
    )


def chain_of(graph: Graph, node: Node) -> Chain:
    """The chain of middlewares a node belongs to: from the first of its scope along `next`."""
    scope = node.scope_path
    path, chain = graph.starts[scope][0], list[str]()
    while graph.nodes[path].next:
        chain.append(path)
        path = graph.nodes[path].next
    index = chain.index(node.path) if node.path in chain else len(chain)
    middlewares = tuple(link.rpartition("/")[2] for link in chain)
    return Chain(scope.rpartition("/")[2], middlewares, index)


def accept(
    turn: Turn,
    task: Task,
    attempt: Attempt,
    output: Json,
    log: str | None,
    *,
    skipped: bool = False,
    metadata: dict[str, Any] | None = None,
) -> bool:
    """Take an attempt's result as the task's: once, under the newest lease.

    One that does not meet the node's schema is taken with a warning; where that is strict it is a
    failure of the attempt, which keeps it; False then. A worker may also say that there was nothing
    to do: the task's edges do not fire.
    """
    node = turn.node(task)
    taken = take(node, output, skipped=skipped)
    if taken.failure is not None:
        refused = msgspec.structs.replace(attempt, output=output)
        attempt_failed(turn, task, refused, taken.failure, log)
        return False
    notes = None
    if taken.warning or metadata:
        notes = AttemptNotes((taken.warning,) if taken.warning else (), metadata).json()
    judged = node.verification is not None and not skipped
    kept = {"output": taken.output} if judged else {}
    turn.move_attempt(attempt, state=AttemptState.SUCCEEDED, log=log, notes=notes, **kept)
    if node.timeout_ms:
        turn.drop_timer(task.id, "timeout")
    if node.next:
        release_called(turn, task, attempt.id)
    if skipped:
        skip(turn, task, taken.output)
    elif node.verification is not None:
        verifying.submit(turn, task, node.verification, attempt)
    else:
        succeed(turn, task, taken.output, result_action(node, taken.output))
    return True


def attempt_failed(
    turn: Turn, task: Task, attempt: Attempt, failure: Failure, log: str | None = None
) -> None:
    """Record a try without a result; try again, move to another worker, or give the task up."""
    node = turn.node(task)
    if not end_attempt(turn, task, attempt, failure, log):
        return
    if failure.kind == "returned":
        # Nobody began it, so nothing is counted.
        requeue(turn, task, failure.retry_after_ms or 0, {})
    elif failure.kind in ("unreachable", "lost", "cancelled"):
        # A holder that gives work back says nothing about the work: it moves on.
        move_on(turn, task, node, attempt, failure)
    elif is_push_back(turn, task, failure):
        push_back(turn, task, attempt, failure)
    else:
        try_again(turn, task, node, attempt, failure)


def end_attempt(
    turn: Turn, task: Task, attempt: Attempt, failure: Failure, log: str | None = None
) -> bool:
    """Record how a try without a result ended; whether the task may go on after it."""
    turn.move_attempt(attempt, state=end_of(failure), error=failure.json(), log=log)
    node = turn.node(task)
    if node.timeout_ms:
        turn.drop_timer(task.id, "timeout")
    if node.next:
        release_called(turn, task, attempt.id)
    if not turn.cancelling:
        return True
    turn.move(task, TaskState.CANCELLED, error=failure.json())
    close(turn, task)
    return False


def move_on(turn: Turn, task: Task, node: Node, attempt: Attempt, failure: Failure) -> None:
    moves = task.moves + 1
    bound = node.retry.moves_max
    moves_max = turn.limits.moves_max if bound is None else bound - 1
    if moves > moves_max:
        fail(turn, task, failure)
        return
    queue = released(turn, task, node, attempt.worker_id)
    columns = {"moves": moves, "avoid": attempt.worker_id, "queue": queue}
    pause = node.retry.move_wait_ms
    if bound is None and failure.kind == "unreachable":
        pause = max(pause, unreachable_pause_ms(moves))
    requeue(turn, task, pause, columns)


def try_again(turn: Turn, task: Task, node: Node, attempt: Attempt, failure: Failure) -> None:
    failures = task.failures + 1
    if failure.kind == "fatal":
        fail(turn, task, failure)
    elif failures <= node.retry.retries_max:
        pause = failure.retry_after_ms
        if pause is None:
            pause = pause_ms(node.retry, failures, attempt.id)
        requeue(turn, task, pause, {"failures": failures, "error": failure.json()})
    elif subflow_retries(turn, task):
        container = container_of(turn, task)
        assert container is not None
        turn.count_scope(container.id, failed=1)
        pause = pause_ms(turn.node(container).retry, container.failed + 1, attempt.id)
        requeue(turn, task, pause, {"failures": failures, "error": failure.json()})
    else:
        fail(turn, task, failure)


def subflow_retries(turn: Turn, task: Task) -> bool:
    """Whether the subflow around a task has a retry of its own left for it."""
    container = container_of(turn, task)
    if container is None or task.idx >= 0:
        return False
    node = turn.node(container)
    return node.strategy is Strategy.RETRY and container.failed < max(1, node.retry.retries_max)


def retry_due(turn: Turn, task: Task) -> None:
    """The pause is over: a task waits for whoever does, judges or plans it again."""
    if task.state is TaskState.VERIFYING:
        verifying.wait_for_verdict(turn, task)
        return
    turn.move(task, TaskState.QUEUED, ready_at=turn.now, due_at=None)


def unpin(turn: Turn, task: Task) -> None:
    """The worker a task would prefer had no room for long enough: anybody may have it."""
    node = turn.node(task)
    if task.state is TaskState.QUEUED and node.target is not None:
        turn.move(task, task.state, queue=queue_of(turn, node.target), ready_at=turn.now)


def fail_without_worker(turn: Turn, task: Task, worker_id: str) -> None:
    """The worker that keeps what a task needs is gone for good."""
    text = f"worker {worker_id}, which keeps what this task needs, is gone"
    fail(turn, task, Failure("fatal", text, code="E.RESOURCE.MISSING"))
