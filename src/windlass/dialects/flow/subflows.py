"""Subflow nodes: the scope inside them, and what `subflow_execs` changes in it."""

from windlass.dialects.fields import Fields
from windlass.dialects.flow.draft import Draft, Override, Scope, WrittenNode
from windlass.dialects.flow.targets import CALL_FIELDS, CallFields, read_call
from windlass.dialects.plain import under
from windlass.model.graph import Node

BODY_FIELDS = frozenset({"start", "nodes", "edges"})
_OVERRIDE_FIELDS = CALL_FIELDS | {"node", "params", "index"}


def lower_subflow(
    node: Node, entry: WrittenNode, call: CallFields, level: int, draft: Draft
) -> None:
    """Queue the inside of a subflow node for lowering."""
    fields = entry.fields
    overrides = _read_overrides(fields)
    if not fields.has("subflow"):
        reason, hint = "the subflow node has no body", "give start, nodes and edges"
        draft.problems.add(fields.at("subflow"), reason, hint)
        return
    body = fields.within("subflow", BODY_FIELDS)
    if level >= draft.limits.levels_max:
        reason = f"subflows nest deeper than {draft.limits.levels_max} levels"
        draft.problems.add(body.where, reason)
        return
    # A sub-node names its own service; how it is called may come from outside.
    inherited = CallFields(call.mode, "", call.func, call.script, call.pod)
    draft.waiting.append(Scope(body, node.path, level + 1, inherited, overrides, node.limits))


def _read_overrides(fields: Fields) -> dict[str, Override]:
    overrides: dict[str, Override] = {}
    for index, item in enumerate(fields.items("subflow_execs")):
        where = under(fields.at("subflow_execs"), index)
        spec = Fields(item, where, _OVERRIDE_FIELDS, fields.problems)
        key = spec.text("node")
        if not key:
            spec.problems.add(spec.at("node"), "the entry names no node of the subflow")
        elif key in overrides:
            spec.problems.add(spec.at("node"), f'"{key:.60}" has an entry already')
        overrides[key] = Override(where, read_call(spec), spec.mapping("params"))
    return overrides
