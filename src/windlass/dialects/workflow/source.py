"""A whole definition, read: its own graph, its subgraphs, and the versions it asks for."""

import re
from dataclasses import replace
from typing import NamedTuple

from windlass.dialects.fields import Problems
from windlass.dialects.plain import is_object, under
from windlass.dialects.workflow.edges import read_wires
from windlass.dialects.workflow.fields import Exact
from windlass.dialects.workflow.interface import read_interface
from windlass.dialects.workflow.nodes import is_strict, read_node
from windlass.dialects.workflow.runtimes import read_runtimes
from windlass.dialects.workflow.shape import Body, Hint, Runtime, Source, Subgraph, WorkflowNode

WORKFLOW_FIELDS = frozenset(
    {
        "id",
        "schemaVersion",
        "metadata",
        "nodes",
        "edges",
        "tags",
        "runtimes",
        "previewImage",
        "subgraphs",
        "extensions",
    }
)
WHOLE_FIELDS = WORKFLOW_FIELDS | {"inputs", "outputs"}
"""Of the workflow itself: what is inside a container is reached by the container's ports."""
SUBGRAPH_FIELDS = frozenset({"id", "definition", "metadata"})
_SCHEMA_VERSION = re.compile(r"\d{4}-\d{2}")


def read_source(definition: object, problems: Problems) -> Source:
    """Everything a definition says; what is wrong with it is noted."""
    if definition is None:
        problems.wrong_type("", definition, "an object")
    fields = Exact(definition, "", WHOLE_FIELDS, problems)
    version = fields.needed("schemaVersion", 'the year and month of its form, as "2025-10"')
    if version and not _SCHEMA_VERSION.fullmatch(version):
        reason = f'"{version:.60}" is not a version of the form of workflows'
        problems.add(fields.at("schemaVersion"), reason, 'year and month, as "2025-10"')
    subgraphs: dict[str, Subgraph] = {}
    brought = Brought(subgraphs, [], {})
    body = _read_workflow(fields, brought)
    interface = read_interface(fields, body)
    return Source(body, subgraphs, tuple(brought.hints), interface, brought.runtimes)


class Brought(NamedTuple):
    """What graphs bring along for the whole definition."""

    subgraphs: dict[str, Subgraph]
    hints: list[Hint]
    runtimes: dict[str, Runtime]


def _read_workflow(fields: Exact, brought: Brought) -> Body:
    """One graph; what it brings along is added to what is known."""
    subgraphs = brought.subgraphs
    fields.uuid("id")
    fields.mapping("metadata")
    fields.texts("tags")
    _read_hints(fields, brought.hints)
    read_runtimes(fields, brought.runtimes)
    body = _read_body(fields)
    for index, item in enumerate(fields.items("subgraphs")):
        where = under(fields.at("subgraphs"), index)
        own = Exact(item, where, SUBGRAPH_FIELDS, fields.problems)
        key = own.needed("id", "containers name a subgraph by its id")
        if key in subgraphs:
            reason = f'another subgraph has the id "{key:.60}" too'
            fields.problems.add(own.at("id"), reason, "give every subgraph an id of its own")
        label = own.mapping("metadata").get("label")
        inner = own.within("definition", WORKFLOW_FIELDS)
        if not own.has("definition"):
            fields.problems.add(own.at("definition"), "is missing", "give the graph inside")
            continue
        text = label if isinstance(label, str) else ""
        subgraphs[key] = Subgraph(key, text, _read_workflow(inner, brought))
    return body


def _read_body(fields: Exact) -> Body:
    problems = fields.problems
    entries: dict[str, WorkflowNode] = {}
    for index, item in enumerate(fields.items("nodes")):
        where = under(fields.at("nodes"), index)
        entry = read_node(item, where, problems)
        if entry is None:
            continue
        if entry.id in entries:
            reason = f'another node has the id "{entry.id}" too'
            problems.add(under(where, "id"), reason, "give every node an id of its own")
        entries.setdefault(entry.id, entry)
    if not fields.items("nodes"):
        problems.add(fields.at("nodes"), "there are no nodes", "give at least one")
    if is_strict(fields.raw("extensions")):
        entries = {key: strict(entry) for key, entry in entries.items()}
    wires = read_wires(fields.raw("edges"), fields.at("edges"), problems, ids=True)
    return Body(fields.where, entries, tuple(wires))


def strict(entry: WorkflowNode) -> WorkflowNode:
    """A node whose results, and those of its middlewares, are held to their schemas."""
    return replace(entry, strict=True, middlewares=tuple(map(strict, entry.middlewares)))


def _read_hints(fields: Exact, hints: list[Hint]) -> None:
    """`runtimes` say which version of a package their workers need at least."""
    for name, runtime in fields.mapping("runtimes").items():
        where = under(fields.at("runtimes"), name)
        given = runtime.get("workerHints") if is_object(runtime) else None
        if not is_object(given):
            continue
        package, version = given.get("package"), given.get("minVersion")
        if isinstance(package, str) and isinstance(version, str):
            hints.append(Hint(package, version, under(where, "workerHints")))
