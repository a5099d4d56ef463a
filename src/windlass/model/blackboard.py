"""The blackboard: what a run and its tasks let each other know, by key and revision.

A key is `bb.run.<run>.<namespace>…` or `bb.task.<task>.<namespace>…`. The revision of a write is
the `seq` of its run: a moment of the run, so that what a brief names can be read again as it was. A
worker writes below its own task, a verifier in the namespace `verifier`, and what is a result is
never overwritten unseen.
"""

from enum import StrEnum

from msgspec.structs import asdict

from windlass.model.errors import BadRequest, Denied
from windlass.model.rows import Json, Row

KEY_MAX = 500
PAYLOAD_MAX = 256 * 1024
"""Characters of one value; what is larger is a resource, and its address stands here."""
NAMESPACES = ("context", "plan", "deps", "progress", "result", "artifacts", "verifier", "human")
_RESULT = "result"
_VERIFIER = "verifier"


class Writer(StrEnum):
    ORCHESTRATOR = "orchestrator"
    WORKER = "worker"
    VERIFIER = "verifier"


class BoardEntry(Row, frozen=True, kw_only=True):
    """A key as it stands."""

    TABLE = "blackboard"
    KEY = ("key",)
    FIXED = frozenset({"run_id"})
    key: str
    run_id: str
    revision: int
    writer: Writer
    writer_id: str = ""
    attempt_id: str = ""
    epoch: int = 0
    """The number of the attempt that wrote it; 0 for what the run itself writes."""
    deleted: int = 0
    payload: Json = "null"
    at: int


class BoardPast(Row, frozen=True, kw_only=True):
    """A key as it stood before."""

    TABLE = "blackboard_past"
    KEY = ("key", "revision")
    key: str
    run_id: str
    revision: int
    writer: Writer
    writer_id: str = ""
    attempt_id: str = ""
    epoch: int = 0
    deleted: int = 0
    payload: Json = "null"
    at: int


def past_of(entry: BoardEntry) -> BoardPast:
    return BoardPast(**asdict(entry))


def run_key(run_id: str, rest: str) -> str:
    return f"bb.run.{run_id}.{rest}"


def task_key(task_id: str, rest: str) -> str:
    return f"bb.task.{task_id}.{rest}"


def check_key(key: str) -> None:
    """`BadRequest` for what can be no key at all."""
    parts = key.split(".")
    if len(key) > KEY_MAX or not key.isprintable() or " " in key or not all(parts):
        raise BadRequest(f'"{key:.100}" is no key: its parts are not empty, and without spaces')


def namespace_in(key: str, run_id: str, task_id: str) -> tuple[bool, str]:
    """Whether a key is of an attempt's own task rather than of its run, and its namespace; others'
    keys are nothing to it."""
    for own, start in ((True, task_key(task_id, "")), (False, run_key(run_id, ""))):
        if key.startswith(start):
            namespace = key.removeprefix(start).partition(".")[0]
            if namespace not in NAMESPACES:
                raise BadRequest(f'"{key:.100}" has no namespace: {", ".join(NAMESPACES)}')
            return own, namespace
    raise Denied(f'"{key:.100}" belongs to another task: an attempt writes below its own')


def check_writer(key: str, run_id: str, task_id: str, writer: Writer, *, swaps: bool) -> None:
    """`Denied` or `BadRequest` where a key is not a writer's to write, or not so."""
    own, namespace = namespace_in(key, run_id, task_id)
    if writer is Writer.VERIFIER and namespace != _VERIFIER:
        raise Denied(f'whoever judges writes in the namespace verifier, not "{namespace}"')
    if writer is Writer.WORKER and (not own or namespace == _VERIFIER):
        raise Denied(f'"{key:.100}" is not a worker\'s to write: its own task, but for verifier')
    if namespace == _RESULT and not swaps:
        raise BadRequest("a result is only swapped for what is known to be there: name a revision")
