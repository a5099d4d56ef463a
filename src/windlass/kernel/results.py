"""What a worker's result becomes: laid over the node's own, given a status, and checked."""

from typing import Any, NamedTuple

from windlass.kernel.schemas import flaw_of
from windlass.kernel.values import encode, parse
from windlass.model.graph import Node
from windlass.model.rows import Failure, Json
from windlass.model.values import is_object


class Taken(NamedTuple):
    """A result as the task keeps it, or why it cannot be kept."""

    output: Json
    failure: Failure | None = None


def take(node: Node, output: Json, *, skipped: bool) -> Taken:
    """Make a task's output from what its worker returned.

    A node without results of its own takes anything. What a skipped task left is not checked:
    nothing builds on it.
    """
    if node.results is None:
        return Taken(output)
    given: Any = parse(output)
    if given is None:
        given = {}
    if not is_object(given):
        return Taken(output, _invalid("results: a result is an object, a field for each value"))
    status = "SKIPPED" if skipped else "SUCCEEDED"
    results = {**node.results, "status": status, **given}
    if node.results_schema and not skipped:
        flaw = flaw_of(results, node.results_schema, "results")
        if flaw:
            return Taken(output, _invalid(flaw))
    return Taken(encode(results))


def _invalid(flaw: str) -> Failure:
    return Failure("fatal", flaw, code="E.RESULT.INVALID")
