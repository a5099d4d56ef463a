"""Plan nodes of a flow: the goal is a text with references in it, the input is what `prep` says."""

import msgspec

from windlass.dialects.fields import Fields
from windlass.dialects.flow.draft import WrittenNode
from windlass.dialects.flow.mappings import RETRY_FIELDS
from windlass.dialects.flow.refs import parse_ref, parse_text
from windlass.dialects.planning import PLANNING_FIELDS, read_planning
from windlass.model.graph import Node, Ref, Root
from windlass.model.values import is_object

PLAN_FIELDS = PLANNING_FIELDS
_NOT_OF_A_PLAN = {
    "timeout_ms": "give tasks of the plan a timeout_seconds, planners plan_limits.planner_seconds",
    **dict.fromkeys(sorted(RETRY_FIELDS), "give tasks of the plan a retry_policy"),
}


def lower_plan(node: Node, entry: WrittenNode) -> Node:
    fields = entry.fields
    for name, hint in _NOT_OF_A_PLAN.items():
        if fields.has(name):
            fields.problems.add(fields.at(name), "a plan as a whole has none", hint)
    planner = {**read_planning(fields), "input": Ref(Root.INPUT)}
    named = _named_plan(fields)
    if named is not None:
        planner["plan"] = named
    goal = tuple(parse_text(fields.text("goal"), fields.at("goal"), fields.problems))
    return msgspec.structs.replace(node, planner=planner, goal=goal)


def _named_plan(fields: Fields) -> Ref | None:
    """A plan that the run is given, or that a node before this one makes."""
    given, where = fields.raw("plan"), fields.at("plan")
    if given is None or is_object(given):
        return None
    if isinstance(given, str) and given.startswith("$"):
        return parse_ref(given, where, fields.problems)
    fields.problems.wrong_type(where, given, 'a plan, or a reference like "$params.plan"')
    return None
