"""A workflow's definition to a Graph, to what it takes from packages, and to an outline."""

import json
from hashlib import sha256
from typing import NamedTuple

from windlass.dialects.fields import Problems
from windlass.dialects.plain import DEFAULT_LIMITS, Limits, first_flaw
from windlass.dialects.workflow.check import check_containers, check_cycles
from windlass.dialects.workflow.connections import Connector
from windlass.dialects.workflow.draft import Draft, NodeOrigin
from windlass.dialects.workflow.lowering import Lowering
from windlass.dialects.workflow.packages import Catalog, check_packages, take, with_locked
from windlass.dialects.workflow.runtimes import with_runtimes
from windlass.dialects.workflow.shape import Json, Source
from windlass.dialects.workflow.source import read_source
from windlass.dialects.workflow.spots import Inside
from windlass.model.errors import DefinitionError, Problem
from windlass.model.graph import Graph


def compile_workflow(
    definition: object, locked: object | None = None, *, limits: Limits = DEFAULT_LIMITS
) -> Graph:
    """The graph a workflow stands for, with what `resolve` took from packages for it.

    Raises DefinitionError with every problem that can be found at once.
    """
    return _lower(definition, locked, limits).graph()


class Checked(NamedTuple):
    """A workflow's graph, and what its author may not have meant."""

    graph: Graph
    warnings: tuple[Problem, ...]


def check_workflow(
    definition: object,
    locked: object | None = None,
    *,
    limits: Limits = DEFAULT_LIMITS,
    strict: bool = False,
) -> Checked:
    """As `compile_workflow`, for somebody who publishes: with warnings, which `strict` refuses.

    What was published once is compiled without them, whatever the server is told later.
    """
    draft = _lower(definition, locked, limits, strict=strict)
    return Checked(draft.graph(), tuple(draft.problems.warnings))


def resolve(definition: object, catalog: Catalog, *, limits: Limits = DEFAULT_LIMITS) -> Json:
    """What a workflow takes from packages, to be kept beside it and given to `compile_workflow`.

    Raises DefinitionError where packages or node types are not known.
    """
    problems = Problems()
    locked = take(_read(definition, limits, problems), catalog, problems)
    problems.raise_if_any()
    return locked


def outline(definition: object, locked: object | None = None) -> dict[str, NodeOrigin]:
    """By the path of each node in the graph, what it stands for in the definition."""
    return _lower(definition, locked, DEFAULT_LIMITS).places


def definition_hash(definition: object) -> str:
    """A digest of what a definition says, whatever the order and spacing of its text."""
    text = json.dumps(definition, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return sha256(text.encode(errors="surrogatepass")).hexdigest()


def _read(definition: object, limits: Limits, problems: Problems) -> Source:
    flaw = first_flaw(definition, limits)
    if flaw is not None:
        raise DefinitionError([flaw])
    return read_source(definition, problems)


def _lower(
    definition: object, locked: object | None, limits: Limits, *, strict: bool = False
) -> Draft:
    """The graph in the making, with all that is wrong with it."""
    problems = Problems(strict=strict)
    source = with_runtimes(_read(definition, limits, problems), problems)
    source = with_locked(source, locked, problems)
    check_packages(source, problems)
    bodies = {"": source.body} | {key: g.body for key, g in source.subgraphs.items()}
    for body in bodies.values():
        check_cycles(body, problems)
    sound = check_containers(source, problems)
    connector = Connector(source, problems)
    connected = {key: connector.connect(body) for key, body in bodies.items()}
    draft = Draft(limits, problems)
    draft.params = source.interface.params
    if sound:
        Lowering(draft, connector, connected, source.interface).body(connected[""], Inside())
    return draft
