"""Plan nodes of flows and workflows: what is planned, by whom, and within which bounds.

A plan that is there already is checked with the definition, so that nobody finds out in a run.
"""

from typing import Any

import msgspec

from windlass.dialects.fields import Fields
from windlass.dialects.plain import under
from windlass.dialects.plan.profiles import read_profiles
from windlass.model.graph import Ref, Root
from windlass.model.plans import CAPS, OnFailure, Plan, PlanLimits, read_plan
from windlass.model.values import is_object

PLANNING_FIELDS = frozenset(
    {
        "goal",
        "plan",
        "planner_profile",
        "worker_profile",
        "profiles",
        "plan_limits",
        "on_failure",
        "output_schema",
    }
)


def read_planning(fields: Fields) -> dict[str, Ref]:
    """The settings a plan node writes out, but for its goal and a plan named by a reference."""
    if not fields.text("goal").strip() and not fields.problems.noted(fields.at("goal")):
        hint = 'say what is to be reached, as in goal: "Write about $params.topic"'
        fields.problems.add(fields.at("goal"), "the plan has no goal", hint)
    limits = _read_limits(fields)
    settings: dict[str, Any] = {
        "planner_profile": fields.name("planner_profile") or None,
        "worker_profile": fields.name("worker_profile") or None,
        "on_failure": fields.one_of("on_failure", [str(word) for word in OnFailure]) or None,
        "output_schema": fields.mapping("output_schema") or None,
        "profiles": read_profiles(fields) or None,
        "limits": limits or None,
    }
    if is_object(fields.raw("plan")):
        settings["plan"] = fields.raw("plan")
        read = read_plan(fields.raw("plan"), msgspec.convert(limits, PlanLimits))
        for problem in read if not isinstance(read, Plan) else ():
            where = f"{fields.at('plan')}.{problem.path}"
            fields.problems.add(where, problem.reason, problem.hint)
    return {
        name: Ref(Root.LITERAL, literal=value)
        for name, value in settings.items()
        if value is not None
    }


def _read_limits(fields: Fields) -> dict[str, int]:
    caps: dict[str, int] = msgspec.structs.asdict(CAPS)
    where = fields.at("plan_limits")
    found: dict[str, int] = {}
    for name, value in fields.mapping("plan_limits").items():
        if name not in caps:
            hint = fields.problems.closest(name, caps) or f"there are {', '.join(caps)}"
            fields.problems.add(under(where, name), f'no limit "{name:.60}"', hint)
        elif not isinstance(value, int) or isinstance(value, bool) or value <= 0:
            fields.problems.add(under(where, name), "not a whole number above 0")
        else:
            found[name] = min(value, caps[name])
    return found
