"""A whole definition to a Graph: scope by scope, nodes first, then the edges between them."""

import msgspec

from windlass.dialects.budgets import read_budget_field
from windlass.dialects.fields import Fields
from windlass.dialects.flow.check import Arrow, check_scope
from windlass.dialects.flow.draft import Draft, Scope, WrittenNode
from windlass.dialects.flow.limits import read_limits
from windlass.dialects.flow.mappings import POST_FIELDS, PREP_FIELDS, read_output
from windlass.dialects.flow.nodes import NODE_FIELDS, lower_node
from windlass.dialects.flow.subflows import BODY_FIELDS
from windlass.dialects.params import read_params_schema
from windlass.dialects.plain import DEFAULT_LIMITS, Limits, first_flaw, under
from windlass.model.errors import DefinitionError
from windlass.model.graph import Edge, Graph
from windlass.model.ids import node_path

FLOW_FIELDS = BODY_FIELDS | {"on_failure", "params", "limits", "budget"}
KEY_CHARS_MAX = 200
PATH_CHARS_MAX = 800
"""Keys are part of task ids, which are part of URLs and index entries; so is the way down to a
node, once more with the number of each step."""


def compile_flow(definition: object, *, limits: Limits = DEFAULT_LIMITS) -> Graph:
    """The graph a definition stands for; raises DefinitionError with every problem in it."""
    flaw = first_flaw(definition, limits)
    if flaw is not None:
        raise DefinitionError([flaw])
    draft = Draft(limits)
    if definition is None:
        draft.problems.wrong_type("", definition, "an object")
    body = Fields(definition, "", FLOW_FIELDS, draft.problems)
    fails_run = body.one_of("on_failure", ("continue", "fail")) == "fail"
    params = read_params_schema(body.raw("params"), body.at("params"), draft.problems)
    budget = read_budget_field(body)
    draft.waiting.append(Scope(body, limits=read_limits(body)))
    while draft.waiting:
        _lower_scope(draft.waiting.popleft(), draft)
    graph = draft.graph(fails_run=fails_run, params=params)
    return msgspec.structs.replace(graph, budget=budget) if budget else graph


def _lower_scope(scope: Scope, draft: Draft) -> None:
    entries = _read_entries(scope, draft)
    if not draft.admit(len(entries), scope.body.at("nodes")):
        return
    # Input maps ask for these, so every node's output is read before any node is lowered.
    outputs = [entry.output for entry in entries.values()]
    written = frozenset(key for out in outputs for key in (out.key, *out.fields) if key)
    for entry in entries.values():
        lower_node(entry, scope, written, draft)
    _check_overrides(scope, entries, draft)
    start = _read_start(scope, entries, draft)
    arrows = _read_arrows(scope, entries, draft)
    check_scope(entries, start, arrows, draft)
    if start is not None:
        draft.starts[scope.path] = (entries[start].path,)
    for arrow in arrows:
        source = entries[arrow.source].path
        target = entries[arrow.target].path if arrow.target is not None else None
        draft.edges[source].append(Edge(source, arrow.on, target))


def _read_entries(scope: Scope, draft: Draft) -> dict[str, WrittenNode]:
    nodes_at = scope.body.at("nodes")
    entries: dict[str, WrittenNode] = {}
    for key, value in scope.body.mapping("nodes").items():
        where = under(nodes_at, key)
        if not key:
            draft.problems.add(where, "a node has an empty key", "give it a name")
        elif len(key) > KEY_CHARS_MAX:
            reason = f"the node's key has {len(key)} characters, the limit is {KEY_CHARS_MAX}"
            draft.problems.add(where, reason)
        elif len(node_path(scope.path, key)) > PATH_CHARS_MAX:
            reason = f"the keys on the way here have more than {PATH_CHARS_MAX} characters"
            draft.problems.add(where, reason, "name the nodes of nested subflows more shortly")
        fields = Fields(value, where, NODE_FIELDS, draft.problems)
        prep, post = fields.within("prep", PREP_FIELDS), fields.within("post", POST_FIELDS)
        path = node_path(scope.path, key)
        entries[key] = WrittenNode(key, path, where, fields, prep, post, read_output(post))
    if not entries:
        draft.problems.add(nodes_at, "there are no nodes", "give at least the one named by start")
    return entries


def _read_start(scope: Scope, entries: dict[str, WrittenNode], draft: Draft) -> str | None:
    start, where = scope.body.text("start"), scope.body.at("start")
    if start in entries:
        return start
    if start:
        hint = draft.problems.closest(start, entries)
        draft.problems.add(where, f'there is no node "{start:.60}"', hint)
    elif isinstance(scope.body.raw("start"), str | None):
        draft.problems.add(where, "nothing says where to start", "name the first node")
    return None


def _read_arrows(scope: Scope, entries: dict[str, WrittenNode], draft: Draft) -> list[Arrow]:
    """The edges that lead from a node to a node or to the end; the others are problems."""
    arrows: list[Arrow] = []
    for index, item in enumerate(scope.body.items("edges")):
        where = under(scope.body.at("edges"), index)
        fields = Fields(item, where, ("from", "action", "to"), draft.problems)
        source, target = fields.text("from"), fields.text("to") or None
        if not source and not fields.has("from"):
            draft.problems.add(fields.at("from"), "the edge comes from nowhere", "name a node")
        ends = [("from", source), ("to", target)]
        for name, key in ends:
            if key and key not in entries:
                hint = draft.problems.closest(key, entries)
                draft.problems.add(fields.at(name), f'there is no node "{key:.60}"', hint)
        if source in entries and (target is None or target in entries):
            on = fields.name("action") or "default"
            arrows.append(Arrow(where, source, on, target))
    return arrows


def _check_overrides(scope: Scope, entries: dict[str, WrittenNode], draft: Draft) -> None:
    for key, override in scope.overrides.items():
        if key and key not in entries:
            reason, hint = (
                f'the subflow has no node "{key:.60}"',
                draft.problems.closest(key, entries),
            )
            draft.problems.add(under(override.where, "node"), reason, hint)
