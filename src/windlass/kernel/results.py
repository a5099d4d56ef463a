"""What a worker's result becomes: laid over the node's own, given a status, and checked."""

from typing import Any, NamedTuple

from windlass.kernel.routing import text_action
from windlass.kernel.schemas import flaw_of, is_null
from windlass.kernel.values import encode, parse
from windlass.model.graph import Node
from windlass.model.rows import Failure, Json
from windlass.model.values import is_object

PENDING = "PENDING"
"""The status of a node's results before its task has ended."""


class Taken(NamedTuple):
    """A result as the task keeps it, with what is odd about it, or why it cannot be kept."""

    output: Json
    failure: Failure | None = None
    warning: str = ""


def take(node: Node, output: Json, *, skipped: bool) -> Taken:
    """Make a task's output from what its worker returned.

    A node without results of its own takes anything. How a task ended is no part of its results,
    but where they stand at "PENDING" until then. What a skipped task left is not checked: nothing
    builds on it.
    """
    if node.results is None:
        return Taken(output)
    given: Any = parse(output)
    if given is None:
        given = {}
    if not is_object(given):
        return Taken(output, _invalid("results: a result is an object, a field for each value"))
    results = {**node.results, **given}
    if results.get("status") == PENDING:
        results["status"] = "SKIPPED" if skipped else "SUCCEEDED"
    flaw = ""
    if node.results_schema and not skipped:
        flaw = flaw_of(results, node.results_schema, "results", is_null)
        if flaw and node.results_strict:
            return Taken(output, _invalid(flaw))
    return Taken(encode(results), warning=flaw)


def _invalid(flaw: str) -> Failure:
    return Failure("fatal", flaw, code="E.RESULT.INVALID")


def result_action(node: Node, output: Json) -> str:
    """The action a result stands for."""
    if node.action.static or not node.action.key:
        return node.action.static
    result = parse(output)
    return text_action(result.get(node.action.key)) if is_object(result) else ""
