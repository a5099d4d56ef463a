"""Wait and approval nodes: the run stands until a signal or a person moves it on.

Both wait for a value. A wait is over when the value is there and not empty; an approval also when
somebody answers its checkpoint. Neither holds a worker, a lease or memory.
"""

from typing import Any

import msgspec

from windlass.kernel.checkpoints import open_checkpoint_id
from windlass.kernel.nodes.timer import duration_ms
from windlass.kernel.routing import fail, succeed, text_action
from windlass.kernel.scopes import close_checkpoint
from windlass.kernel.turn import Turn
from windlass.kernel.values import Reader, encode
from windlass.model.graph import Kind, Node, Root, Strategy
from windlass.model.rows import Checkpoint, Failure, Json, Task
from windlass.model.states import CheckpointState, TaskState


def visit(turn: Turn, task: Task, node: Node) -> None:
    """Go on at once if the value is there already, else wait for it."""
    value = read_signal(turn, task, node)
    if is_ready(node, value):
        resolve(turn, turn.make_task(task), value)
        return
    key = node.signal.shared_key if node.signal is not None else None
    timeout = wait_timeout(turn, task, node)
    due_at = turn.now + timeout if timeout else None
    waiting = msgspec.structs.replace(
        task, state=TaskState.WAITING, wait_key=key, due_at=due_at, started_at=turn.now
    )
    turn.make_task(waiting)
    if due_at is not None:
        turn.set_timer(task.id, "timeout", due_at)
    if node.kind is Kind.APPROVAL:
        ask(turn, waiting, node)


def read_signal(turn: Turn, task: Task, node: Node) -> Any:
    if node.signal is None:
        return None
    return Reader(turn, task.scope, node.path, task.input).waited(node.signal)


def is_ready(node: Node, value: Any) -> bool:
    """An approval may be answered with false; a wait takes false for not yet."""
    if node.kind is Kind.APPROVAL:
        return value is not None and value != ""
    return value is not None and value != "" and value is not False


def wait_timeout(turn: Turn, task: Task, node: Node) -> int:
    if node.wait_timeout is None:
        return node.timeout_ms
    reader = Reader(turn, task.scope, node.path, task.input)
    return duration_ms(reader.value(node.wait_timeout)) or node.timeout_ms


def ask(turn: Turn, task: Task, node: Node) -> None:
    """Open the checkpoint that puts the question into the inbox."""
    checkpoint = Checkpoint(
        id=open_checkpoint_id(task),
        run_id=task.run_id,
        task_id=task.id,
        flow_name=turn.run.flow_name,
        node=node.path,
        prompt=node.prompt or f"Approve {node.key}?",
        show=task.input,
        created_at=turn.now,
        expires_at=task.due_at,
        tenant=turn.tenant,
    )
    turn.make(checkpoint)
    turn.note(checkpoint=checkpoint.id, state=str(checkpoint.state))


def signalled(turn: Turn, task: Task) -> bool:
    """Look again at what a task waits for; True if it moved on."""
    node = turn.node(task)
    value = read_signal(turn, task, node)
    if not is_ready(node, value):
        return False
    resolve(turn, task, value)
    return True


def answered(turn: Turn, task: Task, value: Any, by: str, note: str) -> None:
    """A person answered: keep the answer where a signal would have put it, and go on."""
    node = turn.node(task)
    close_checkpoint(
        turn,
        task,
        CheckpointState.RESOLVED,
        answer=encode(value),
        answered_by=by,
        note=note,
    )
    ref = node.signal
    if ref is not None and ref.root is Root.SHARED and len(ref.path) == 1:
        turn.set_variable(task.scope, str(ref.path[0]), encode(value))
    resolve(turn, task, value)


def resolve(turn: Turn, task: Task, value: Any) -> None:
    node = turn.node(task)
    if task.state is TaskState.WAITING:
        turn.drop_timer(task.id, "timeout")
        if node.kind is Kind.APPROVAL:
            close_checkpoint(turn, task, CheckpointState.RESOLVED, answer=encode(value))
    succeed(turn, turn.task(task.id), encode(value), value_action(node, value))


def value_action(node: Node, value: Any) -> str:
    """The action an awaited value stands for."""
    rule = node.action
    if node.kind is Kind.APPROVAL:
        if isinstance(value, bool):
            return "approved" if value else "rejected"
        return text_action(value) or rule.static
    return rule.static or (text_action(value) if rule.key == "signal" else "")


def timed_out(turn: Turn, task: Task) -> None:
    """Nothing came in time: wait again, go on without, or fail, as the node says."""
    node = turn.node(task)
    retries_max = node.retry.retries_max
    if node.strategy is Strategy.RETRY and (not retries_max or task.failures < retries_max):
        due_at = turn.now + wait_timeout(turn, task, node)
        turn.move(task, task.state, due_at=due_at, failures=task.failures + 1)
        turn.set_timer(task.id, "timeout", due_at)
        return
    if node.kind is Kind.APPROVAL:
        close_checkpoint(turn, task, CheckpointState.EXPIRED)
    if node.strategy is Strategy.CONTINUE:
        succeed(turn, turn.task(task.id), NOTHING, node.action.static)
    else:
        fail(turn, turn.task(task.id), Failure("timeout", waited_for(node)))


NOTHING: Json = "null"


def waited_for(node: Node) -> str:
    if node.kind is Kind.APPROVAL:
        return "nobody answered in time"
    key = node.signal.shared_key if node.signal is not None else None
    return f'signal "{key}" did not come in time'
