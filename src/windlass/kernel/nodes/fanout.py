"""Parallel and foreach nodes: branches by position, each a task of its own.

A fan-out is made in slices, so that a hundred thousand items neither hold the writer for seconds
nor fill memory: a slice makes some branches and leaves a timer, due at once, for the next. Only so
many branches are open at once, since all of them end together when their fan-out is cancelled.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from windlass.kernel.limits import NoLimitKey, is_limited, limits_of
from windlass.kernel.placement import queue_of
from windlass.kernel.routing import branches_at_once, fail, join
from windlass.kernel.scopes import cancel_below
from windlass.kernel.superseded import renew
from windlass.kernel.turn import Turn
from windlass.kernel.values import Reader, parse
from windlass.model.graph import Kind, Node
from windlass.model.ids import branch_id
from windlass.model.rows import Failure, Json, Task
from windlass.model.states import TaskState
from windlass.model.values import is_list

_LOOK_AGAIN_MS = 30_000
"""A fan-out with as many open branches as there may be goes on when half of them have ended; where
a server with another bound, or of an earlier release, has seen those end, after this long."""


def visit(turn: Turn, task: Task, node: Node) -> None:
    """Make the container and its first slice of branches."""
    total = node.branches
    problem = ""
    if node.kind is Kind.FOREACH:
        items = parse(task.input)
        if is_list(items):
            total = len(items)
        elif items is not None:
            problem = f"foreach needs a list, its input is {kind_of(items)}"
    container = msgspec.structs.replace(
        task, state=TaskState.RUNNING, total=total, started_at=turn.now
    )
    turn.make_task(container)
    if problem:
        fail(turn, container, Failure("fatal", problem))
    elif total == 0:
        join(turn, container)
    else:
        expand(turn, container)


def kind_of(value: Any) -> str:
    match value:
        case str():
            return "a string"
        case bool():
            return "a boolean"
        case dict():
            return "an object"
        case _:
            return "a number"


def expand(turn: Turn, container: Task) -> None:
    """Make the next slice of branches."""
    node = turn.node(container)
    bound = branches_at_once(node)
    first = container.made
    more = turn.limits.branches_open - container.open
    if more <= 0:
        turn.set_timer(container.id, "expand", turn.now + _LOOK_AGAIN_MS)
        return
    last = min(container.total, first + min(more, turn.limits.branches_per_turn))
    out = container.released - (container.made - container.open)
    room = bound - out if bound else last - first
    released = min(last - first, max(0, room))
    turn.note(fanout=container.id, made=[first, last], released=released, total=container.total)
    known: dict[str, Task | None] = {}
    if container.generation:
        known = turn.rows(Task, [branch_id(container.id, index) for index in range(first, last)])
    inputs = branch_inputs(turn, container, node, first, last)
    if last == container.total:
        turn.view.memo.pop(("items", container.id), None)
    try:
        branches = [
            new_branch(turn, container, node, index, value, released=index - first < room)
            for index, value in zip(range(first, last), inputs, strict=True)
        ]
    except NoLimitKey as error:
        cancel_below(turn, container.id)
        turn.drop_timer(container.id, "expand")
        fail(turn, turn.task(container.id), Failure("fatal", str(error), code="limit_key"))
        return
    for branch in branches:
        before = known.get(branch.id)
        if before is None:
            turn.make_task(branch)
        else:
            names = ("queue", "input", "ready_at", "limits")
            columns = {name: getattr(branch, name) for name in names}
            renew(turn, before, branch.state, **columns)
    turn.count_scope(container.id, made=last - first, open=last - first, released=released)
    turn.drop_timer(container.id, "expand")
    if last < container.total and not bound:
        is_full = turn.task(container.id).open >= turn.limits.branches_open
        turn.set_timer(container.id, "expand", turn.now + (_LOOK_AGAIN_MS if is_full else 0))


def branch_inputs(
    turn: Turn, container: Task, node: Node, first: int, last: int
) -> Sequence[Json | None]:
    """Inputs of a slice: the items themselves, or what each branch's own rule reads."""
    if node.kind is Kind.FOREACH:
        return items_of(turn, container)[first:last]
    reader = Reader(turn, container.scope, node.path, container.input)
    inputs: list[Json | None] = []
    for index in range(first, last):
        rule = turn.graph.branch(node, index).input
        inputs.append(container.input if rule is None else reader.build(rule))
    return inputs


def items_of(turn: Turn, container: Task) -> list[Json]:
    """The items of a foreach, cut out of its input once and kept until the last slice."""
    memo, key = turn.view.memo, ("items", container.id)
    items: list[Json] | None = memo.get(key)
    if items is None:
        cut = msgspec.json.decode(container.input or "[]", type=list[msgspec.Raw])
        items = memo[key] = [bytes(item).decode() for item in cut]
    return items


def new_branch(
    turn: Turn, container: Task, node: Node, index: int, value: Json | None, *, released: bool
) -> Task:
    """A branch, not yet written."""
    branch = turn.graph.branch(node, index)
    assert branch.target is not None
    task = Task(
        id=branch_id(container.id, index),
        run_id=container.run_id,
        scope=container.id,
        node=branch.path,
        kind=branch.kind,
        state=TaskState.QUEUED if released else TaskState.PENDING,
        idx=index,
        queue=queue_of(turn, branch.target),
        priority=container.priority,
        ready_at=turn.now if released else None,
        input=value,
        made_seq=turn.seq,
        created_at=turn.now,
    )
    if is_limited(turn, branch):
        return msgspec.structs.replace(task, limits=limits_of(turn, task, branch))
    return task
