"""The plan dialect: a graph of one plan node, whose inside is planned while the run goes on.

What a definition leaves open is read from the run's parameters, so the empty definition is a plan
for any goal.
"""

from windlass.dialects.budgets import read_budget_field
from windlass.dialects.fields import Fields, Problems
from windlass.dialects.plan.profiles import read_profiles
from windlass.model.graph import Activation, Graph, Kind, Node, Output, Ref, Root
from windlass.model.plans import OnFailure

ROOT = "plan"
"""The path of the one node; tasks of the plan stand below it."""
_FIELDS = frozenset(
    {
        "goal",
        "input",
        "plan",
        "planner_profile",
        "worker_profile",
        "output_schema",
        "on_failure",
        "limits",
    }
)


def compile_plan(definition: object) -> Graph:
    """The graph a definition stands for; raises DefinitionError with every problem in it."""
    problems = Problems()
    fields = Fields(definition, "", _FIELDS | {"budget", "profiles"}, problems)
    budget = read_budget_field(fields)
    fields.text("goal")
    for name in ("planner_profile", "worker_profile"):
        fields.name(name)
    fields.one_of("on_failure", [str(word) for word in OnFailure])
    for name in ("plan", "output_schema", "limits"):
        fields.mapping(name)
    profiles = read_profiles(fields)
    problems.raise_if_any()
    settings = {name: _source(fields, name) for name in sorted(_FIELDS)}
    given = Ref(Root.LITERAL, literal=profiles) if profiles else Ref(Root.PARAMS, ("profiles",))
    settings["profiles"] = given
    node = Node(
        path=ROOT,
        kind=Kind.PLAN,
        activation=Activation.ALL,
        planner=settings,
        output=Output(key="output"),
    )
    return Graph({"": (ROOT,)}, {ROOT: node}, joins={ROOT: 1}, fails_run=True, budget=budget)


def _source(fields: Fields, name: str) -> Ref:
    if fields.has(name):
        return Ref(Root.LITERAL, literal=fields.raw(name))
    return Ref(Root.PARAMS, (name,))
