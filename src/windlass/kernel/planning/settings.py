"""What a plan's task goes by: read once, when it begins, and kept as its input."""

from collections.abc import Container
from typing import Any

import msgspec

from windlass.kernel.schemas import validator
from windlass.model.errors import Problem
from windlass.model.graph import Target
from windlass.model.plans import CAPS, ECHO, PLANNER, WORKER, OnFailure, Plan, PlanLimits
from windlass.model.pods import PodSpec
from windlass.model.rows import Json, Task
from windlass.model.values import is_object
from windlass.model.verification import profile_target

_PROFILE_CHARS_MAX = 200
_OWN = ("hints", "asked", "replanned", "visited")
"""What a run comes to have; nobody gives it."""


class PlanSettings(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is to be reached, by whom, and within which bounds."""

    goal: str
    input: Any = None
    plan: Any = None
    """A plan to begin with: no planner is asked."""
    planner_profile: str = PLANNER
    worker_profile: str = ""
    """Who does tasks that name nobody; given without a plan, the goal is one task of theirs."""
    output_schema: dict[str, Any] | None = None
    on_failure: OnFailure = OnFailure.FAIL_RUN
    limits: PlanLimits = PlanLimits()
    profiles: dict[str, PodSpec] = {}
    """Profiles that are pods, by their names."""
    hints: dict[str, dict[str, Any]] = {}
    """What somebody added to the inputs of tasks meanwhile, by alias."""
    asked: dict[str, list[str]] = {}
    """The newest questions that were asked about tasks from outside, by alias."""
    replanned: int = 0
    """How often another plan took the place of its first one."""
    visited: int = 0
    """The event of its visit, where it was visited before and superseded since."""

    @property
    def may_be_replanned(self) -> bool:
        return self.replanned < self.limits.replans

    @property
    def planner(self) -> Target:
        return profile_target(self.planner_profile)

    @property
    def worker(self) -> str:
        return self.worker_profile or (ECHO if self._is_echo else WORKER)

    @property
    def first_plan(self) -> Any:
        """The plan that is there from the start, if any: as given, or the goal as one task."""
        if self.plan is not None:
            return self.plan
        if self.worker_profile or self._is_echo:
            inputs = self.input if is_object(self.input) else {"input": self.input}
            return {"root": {"goal": self.goal, "inputs": inputs, "worker_profile": self.worker}}
        return None

    @property
    def _is_echo(self) -> bool:
        return is_object(self.input) and "builtin_workerd" in self.input


def read_settings(given: dict[str, Any]) -> PlanSettings | str:
    """The settings, or what is wrong with them."""
    known = {key: value for key, value in given.items() if value is not None and key not in _OWN}
    if "limits" in known:
        clamped = _clamped(known["limits"])
        if isinstance(clamped, str):
            return clamped
        known["limits"] = clamped
    try:
        settings = msgspec.convert(known, PlanSettings)
    except msgspec.ValidationError as error:
        return f"the plan cannot begin: {error}"
    if not settings.goal.strip():
        return "a plan needs a goal"
    if len(settings.goal) > settings.limits.goal_chars:
        most = settings.limits.goal_chars
        return f"the goal has {len(settings.goal):,} characters, at most {most:,}"
    for profile in (settings.planner_profile, settings.worker_profile):
        if len(profile) > _PROFILE_CHARS_MAX:
            return f"a profile's name has at most {_PROFILE_CHARS_MAX} characters"
    if settings.output_schema is not None:
        try:
            validator(msgspec.json.encode(settings.output_schema).decode())
        except ValueError as error:
            return f"output_schema is no JSON Schema: {str(error)[:200]}"
    return settings


def _clamped(given: Any) -> dict[str, int] | str:
    """What a run asks for, up to the caps; bounds that are none are refused."""
    if not is_object(given):
        return "limits must be an object"
    caps: dict[str, int] = msgspec.structs.asdict(CAPS)
    found: dict[str, int] = {}
    for name, value in given.items():
        if name not in caps:
            return f'no limit "{name:.60}"; there are {", ".join(caps)}'
        if not isinstance(value, int) or isinstance(value, bool) or value <= 0:
            return f"limit {name} must be a whole number above 0"
        found[name] = min(value, caps[name])
    return found


def judged_by_pods(profiles: Container[str], plan: Plan) -> list[Problem]:
    """Verifications that nobody would ever take up: pods do tasks, and judge none."""
    return [
        Problem(f"tasks[{at}].verification_policy", f'profile "{name}" is a pod', "name a service")
        for at, task in enumerate(plan.tasks)
        if task.verification is not None and (name := task.verification.target.service) in profiles
    ]


class _Visited(msgspec.Struct, frozen=True):
    visited: int = 0


def visited_seq(plan: Task) -> int:
    """The event with which a plan was last begun: the inside of its node is that of the newest."""
    if not plan.generation:
        return plan.made_seq
    try:
        return msgspec.json.decode(plan.input or "{}", type=_Visited).visited or plan.made_seq
    except msgspec.ValidationError:
        return plan.made_seq  # it failed before it had any settings


def settings_of(text: Json | None) -> PlanSettings:
    """Settings that were read before."""
    return msgspec.json.decode(text or "{}", type=PlanSettings)
