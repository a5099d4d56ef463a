"""`profiles` of a plan: those that are no service of workers, but pods that are made for a task."""

from typing import Any

import msgspec

from windlass.dialects.fields import Fields, Problems
from windlass.dialects.plain import under
from windlass.dialects.pods import read_pod
from windlass.model.plans import BUILT_IN
from windlass.model.pods import PodSpec

KINDS = ("pod",)


def given_profiles(profiles: object, planner: str, problems: Problems) -> dict[str, Any]:
    """The same for a run that brings them along; `planner` plans it."""
    given = {"profiles": profiles, "planner_profile": planner}
    return read_profiles(Fields(given, "", given.keys(), problems))


def read_profiles(fields: Fields) -> dict[str, Any]:
    """What each profile stands for, by its name, as a run keeps it."""
    found: dict[str, PodSpec] = {}
    for name, given in fields.mapping("profiles").items():
        where = under(fields.at("profiles"), name)
        fields.check_name(name, where)
        if name in BUILT_IN:
            fields.problems.add(where, "this profile is built in", "choose another name")
        profile = Fields(given, where, ("kind", "pod"), fields.problems)
        if not profile.one_of("kind", KINDS) and not fields.problems.noted(profile.at("kind")):
            fields.problems.add(profile.at("kind"), "is missing", "kind: pod")
        spec = read_pod(profile)
        if spec is not None:
            found[name] = spec
        elif not fields.problems.noted(where):
            hint = "give pod.image, as in pod: {image: busybox:1.36}"
            fields.problems.add(profile.at("pod"), "no pod to run", hint)
    if fields.text("planner_profile") in found:
        hint = "let a worker plan; pods do tasks"
        fields.problems.add(fields.at("planner_profile"), "a planner is no pod", hint)
    return {name: msgspec.to_builtins(spec) for name, spec in found.items()}
