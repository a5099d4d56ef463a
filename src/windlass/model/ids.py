"""Ids: a run's is time-ordered, everything inside a run is derived from it.

A task id spells its place: `<run>~<node>.<step>` at the top, `<container task>~<node>.<step>` in a
subflow, `<container task>~<index>` for a branch of a fan-out. A task that waits for all its edges
is the only one of its node in a scope and has the step 0; one that an attempt called for has a
digest of the call instead. An attempt adds `@<number>`. So an event that is played twice writes the
same rows, and an attempt's id alone leads to its task, its scope and its run without a query. All
characters are safe in a URL path.
"""

from functools import lru_cache
from hashlib import blake2b
from typing import NewType
from urllib.parse import quote, unquote

RunId = NewType("RunId", str)
TaskId = NewType("TaskId", str)
AttemptId = NewType("AttemptId", str)
ScopeId = NewType("ScopeId", str)
"""Where tasks live side by side: a run's id for its top level, a container task's id below."""


def uuid7(unix_ms: int, random_bits: int) -> str:
    """A time-ordered UUID (RFC 9562, version 7) from a clock reading and 74 random bits."""
    value = (unix_ms & 0xFFFF_FFFF_FFFF) << 80
    value |= 0x7 << 76 | (random_bits >> 62 & 0xFFF) << 64
    value |= 0b10 << 62 | random_bits & 0x3FFF_FFFF_FFFF_FFFF
    text = f"{value:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


@lru_cache(maxsize=8192)
def node_path(scope_path: str, key: str) -> str:
    """A node's place in its graph: `sub/a` is node `a` of subflow node `sub`."""
    safe = quote(key, safe=" .:@+,()")
    return f"{scope_path}/{safe}" if scope_path else safe


def as_written(node: str) -> str:
    """A node's path as people wrote it: for their eyes, and never to look anything up by."""
    return unquote(node)


def as_spelled(key: str) -> str:
    """A node's key as people wrote it, as ids spell it."""
    return _key_of(node_path("", key))


def task_id(scope: str, node: str, step: int) -> TaskId:
    return TaskId(f"{scope}~{_key_of(node)}.{step}")


@lru_cache(maxsize=8192)
def _key_of(node: str) -> str:
    """The last part of a node's path as ids spell it; the same few for thousands of tasks."""
    return quote(node.rsplit("/", 1)[-1], safe="%").replace("~", "%7E")


def called_id(scope: str, node: str, attempt: str, request: str) -> TaskId:
    """A task that an attempt called for: the same request is the same task."""
    return TaskId(called_prefix(scope, node, attempt) + _digest(request))


def called_prefix(scope: str, node: str, attempt: str) -> str:
    """How the ids of all tasks of a node begin that one attempt called for."""
    return task_id(scope, node, 0)[:-1] + _digest(attempt)


def branch_id(container: str, index: int) -> TaskId:
    return TaskId(f"{container}~{index}")


def attempt_id(task: str, number: int) -> AttemptId:
    return AttemptId(f"{task}@{number}")


def task_of(attempt: str) -> TaskId:
    return TaskId(attempt.rpartition("@")[0])


def number_of(attempt: str) -> int:
    """Which try of its task an attempt is; 1 for an id that is not ours and does not say."""
    number = attempt.rpartition("@")[2]
    return int(number) if "@" in attempt and number.isdecimal() and len(number) < 10 else 1


def run_of(any_id: str) -> RunId:
    return RunId(any_id.partition("~")[0])


def scope_of(task: str) -> ScopeId:
    return ScopeId(task.rpartition("~")[0])


def _digest(text: str) -> str:
    return blake2b(text.encode(), digest_size=8).hexdigest()
