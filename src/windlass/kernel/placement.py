"""Placement: which queue a task of a package waits in, so that the right worker gets it.

Each version's handler has a queue of its own, open to every worker that has the package. A task
that belongs to one worker waits in that worker's own queue instead: because it names a resource the
worker keeps, because its affinity key is held there, or because the run's earlier tasks of the
same package went there (its *binding*). So a task without a worker holds up no other.
"""

from collections.abc import Iterable

from windlass.kernel.turn import Turn
from windlass.model.effects import RELEASE, Effect, worker_address
from windlass.model.graph import Affinity, Kind, Node, Target, Transport
from windlass.model.queues import own_queue, owner_of, tenant_queue
from windlass.model.resources import resource_owner
from windlass.model.rows import AffinityHold, Binding, Task
from windlass.model.states import TaskState
from windlass.model.tenants import own_name

PREFERRED_WAIT_MS = 2_000
"""How long a task waits for the worker it would prefer before any other may have it."""


def place(turn: Turn, task: Task, node: Node) -> str:
    """The queue a task is to wait in."""
    target = node.target
    assert target is not None, f"call node {node.path} has no target"
    if target.transport is not Transport.LINK or not target.package:
        return queue_of(turn, target)
    owner = resource_owner(task.input)
    if owner is None and node.affinity is not None:
        hold = turn.get(AffinityHold, hold_key(turn, node.affinity))
        if hold is not None and hold.expires_at > turn.now:
            owner = hold.worker_id
            if node.affinity.preferred:
                turn.set_timer(task.id, "unpin", turn.now + PREFERRED_WAIT_MS)
    if owner is None:
        binding = turn.get(Binding, (task.run_id, target.package))
        owner = binding.worker_id if binding is not None else None
    return queue_of(turn, target, owner)


def queue_of(turn: Turn, target: Target, worker_id: str | None = None) -> str:
    """Where a task waits for a worker, or for any that works for the run's tenant."""
    queue = target.queue if worker_id is None else own_queue(worker_id, target.service)
    return tenant_queue(queue, turn.tenant)


def hold_key(turn: Turn, affinity: Affinity) -> str:
    """Tenants may use the same keys without meaning the same worker."""
    return own_name(turn.tenant, affinity.key)


def claimed(turn: Turn, task: Task, node: Node, worker_id: str) -> None:
    """Remember where a task of a package went: the next ones go there too."""
    target = node.target
    if target is None or not target.package:
        return
    key = (task.run_id, target.package)
    bound = turn.get(Binding, key)
    if bound is None or bound.worker_id != worker_id:
        turn.make(
            Binding(
                run_id=task.run_id,
                package=target.package,
                worker_id=worker_id,
                bound_at=turn.now,
            )
        )
    if node.affinity is not None:
        turn.drop_timer(task.id, "unpin")
        turn.make(
            AffinityHold(
                key=hold_key(turn, node.affinity),
                worker_id=worker_id,
                held_at=turn.now,
                expires_at=turn.now + node.affinity.ttl_ms,
            )
        )


def released(turn: Turn, task: Task, node: Node, worker_id: str) -> str | None:
    """Where a task waits now that its worker lost it: with any other, unless it needs that one."""
    target = node.target
    if target is None or not target.package or owner_of(task.queue) is None:
        return task.queue
    if resource_owner(task.input) is not None:
        return task.queue
    bound = turn.get(Binding, (task.run_id, target.package))
    if bound is not None and bound.worker_id == worker_id:
        turn.remove(Binding, bound.pk)
        let_go(turn, worker_id)
    return queue_of(turn, target)


def unbind(turn: Turn, packages: Iterable[str]) -> None:
    """No task of these packages is left: the workers that had them let go."""
    bound = [turn.get(Binding, (turn.run_id, package)) for package in sorted(packages)]
    for binding in bound:
        if binding is not None:
            turn.remove(Binding, binding.pk)
    for worker_id in sorted({binding.worker_id for binding in bound if binding is not None}):
        let_go(turn, worker_id)


def let_go(turn: Turn, worker_id: str) -> None:
    """Have a worker told that what it keeps for the run is not needed any more: by whichever
    process has its connection, or when it is back."""
    turn.make(
        Effect(
            id=f"{turn.run_id}!{turn.seq}!{worker_id}",
            kind=RELEASE,
            address=worker_address(worker_id),
            run_id=turn.run_id,
            due_at=turn.now,
            created_at=turn.now,
        )
    )


def rebind(turn: Turn, worker_id: str | None, lost: str | None) -> list[str]:
    """Send what waits for its worker to another one: a named one, or any.

    `lost` limits this to tasks of one worker; those that need something only it has are returned.
    """
    gone: set[str] = set()
    for package in turn.graph.packages:
        bound = turn.get(Binding, (turn.run_id, package))
        if bound is not None and lost in (None, bound.worker_id):
            turn.remove(Binding, bound.pk)
            gone.add(bound.worker_id)
        if worker_id is not None:
            turn.make(
                Binding(run_id=turn.run_id, package=package, worker_id=worker_id, bound_at=turn.now)
            )
    for former in sorted(gone - {worker_id}):
        let_go(turn, former)
    left_alone: list[str] = []
    for task in turn.open_tasks(turn.run_id):
        node = turn.node(task)
        if task.state is not TaskState.QUEUED or node.kind is not Kind.CALL:
            continue
        owner = owner_of(task.queue)
        if node.target is None or not node.target.package or (lost is not None and owner != lost):
            continue
        if resource_owner(task.input) is not None:
            left_alone += [task.id] if lost is not None else []
            continue
        if node.affinity is not None:
            turn.drop_timer(task.id, "unpin")
        queue = queue_of(turn, node.target, worker_id)
        turn.move(task, task.state, queue=queue, avoid=owner or task.avoid, ready_at=turn.now)
    return left_alone
