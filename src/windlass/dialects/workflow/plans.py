"""Plan nodes of a workflow: their parameters are the settings, and edges may fill any of them."""

from windlass.dialects.fields import Fields, Problems
from windlass.dialects.plain import under
from windlass.dialects.planning import read_planning
from windlass.dialects.workflow.shape import Json, WorkflowNode
from windlass.dialects.workflow.spots import Spot
from windlass.model.graph import Activation, Kind, Node, Ref, Root

TYPE = "workflow.plan"
_SETTINGS = {
    "goal": "goal",
    "input": "input",
    "plan": "plan",
    "plannerProfile": "planner_profile",
    "workerProfile": "worker_profile",
    "profiles": "profiles",
    "limits": "plan_limits",
    "onFailure": "on_failure",
    "outputSchema": "output_schema",
}
"""What its parameters are called elsewhere."""
_NOT_HERE = ("retry", "timeoutMs", "affinity", "env")
_KEPT = {"plan_limits": "limits"}


def is_plan(type_: str) -> bool:
    return type_ == TYPE


def check_extras(fields: Fields) -> None:
    """Note what calls have and a plan as a whole has not."""
    for name in _NOT_HERE:
        if fields.has(name):
            hint = "tasks of the plan may say it"
            fields.problems.add(fields.at(name), "a plan as a whole has none", hint)


def plan_node(entry: WorkflowNode, spot: Spot, parameters: Json, problems: Problems) -> Node:
    """A plan's node; what is written out of its settings is checked, what edges fill is not."""
    where = under(entry.where, "parameters")
    if entry.middlewares:
        hint = "give them to the tasks before or after it"
        problems.add(under(entry.where, "middlewares"), "a plan has no middlewares", hint)
    for name in parameters.keys() - _SETTINGS.keys():
        hint = problems.closest(name, _SETTINGS) or f"there are {', '.join(_SETTINGS)}"
        problems.add(under(where, name), "a plan has no such parameter", hint)
    written = {_SETTINGS[name]: value for name, value in parameters.items() if name in _SETTINGS}
    filled = {_SETTINGS.get(str(path[0]), "") if path else "goal" for path in spot.filled}
    if "goal" in filled:
        written.setdefault("goal", "(filled by an edge)")
    known = {name: value for name, value in written.items() if name not in filled - {"goal"}}
    known.pop("input", None)
    read_planning(_Camel(known, where, problems))
    return Node(
        path=spot.path,
        kind=Kind.PLAN,
        activation=Activation.ALL,
        fires_all=True,
        params=parameters,
        fills=spot.fills,
        when=spot.when,
        planner={
            _KEPT.get(setting, setting): Ref(Root.INPUT, (name,))
            for name, setting in _SETTINGS.items()
        },
        output=spot.output,
        verification=entry.verification,
        limits=entry.limits,
    )


class _Camel(Fields):
    """Settings under the names they have elsewhere, with the places they have here."""

    def __init__(self, values: Json, where: str, problems: Problems) -> None:
        super().__init__(values, where, values.keys(), problems)

    def at(self, name: str) -> str:
        spelt = next((own for own, other in _SETTINGS.items() if other == name), name)
        return under(self.where, spelt)
