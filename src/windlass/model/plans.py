"""Plans as documents: what planners hand in, read strictly, with every problem at once.

A plan is a set of tasks with aliases that may depend on each other. Unknown fields are refused: a
planner that misspells one should hear of it, not find it ignored.
"""

from collections.abc import Iterable, Iterator
from enum import StrEnum
from functools import lru_cache
from hashlib import sha256
from typing import Any, NamedTuple

import msgspec

from windlass.model.errors import Problem
from windlass.model.graph import Verification
from windlass.model.values import is_list, is_object
from windlass.model.verification import read_verification

WORKER = "llm.default"
PLANNER = "planner.default"
ECHO = "builtin.echo"
JOIN = "builtin.join"
BUILT_IN = frozenset({ECHO, JOIN})
"""Profiles of workers that are always there."""

_FIELDS = frozenset(
    {
        "alias",
        "goal",
        "kind",
        "role",
        "inputs",
        "depends_on",
        "worker_profile",
        "priority",
        "retry_policy",
        "verification_policy",
        "env_preconditions",
        "blackboard_scope",
        "timeout_seconds",
        "on_failure",
    }
)
_KNOWN_BYTES_MAX = 64 * 1024
_PLAN_FIELDS = frozenset({"summary", "tasks", "child_tasks", "root"})
_ENV_FIELDS = frozenset({"required", "kind", "resource_name", "mode", "keep_failed_seconds"})
_RETRY_FIELDS = frozenset({"max_attempts", "backoff_seconds"})
_ROLES = ("", "start", "mid", "final")
_TEXT_MAX = 200
_PRIORITY_MAX = 1_000_000
_ATTEMPTS_MAX = 100
_BACKOFF_S_MAX = 3_600
_TIMEOUT_S_MAX = 30 * 24 * 3600


class OnFailure(StrEnum):
    """What a task of a plan that fails for good means for the rest."""

    FAIL_RUN = "fail_run"
    CONTINUE = "continue"
    """Its successors are skipped, all else goes on."""
    REPLAN = "replan"
    ASK = "ask"


class PlanLimits(msgspec.Struct, frozen=True):
    """How much a plan may be, and how often it may be made anew."""

    plan_tasks: int = 256
    plan_edges: int = 1_024
    run_tasks: int = 2_000
    replans: int = 8
    depth: int = 4
    goal_chars: int = 4_000
    planner_seconds: int = 3_600
    """How long one planner may take."""


CAPS = PlanLimits(1_000, 8_000, 100_000, 64, 16, 20_000, 86_400)
"""As much as a run may ask for."""


class PlanTask(msgspec.Struct, frozen=True, omit_defaults=True):
    """One task of a plan."""

    alias: str
    goal: str
    kind: str = "step"
    role: str = ""
    inputs: dict[str, Any] = {}
    depends_on: tuple[str, ...] = ()
    worker_profile: str = ""
    priority: int = 0
    attempts_max: int = 1
    backoff_ms: int = 0
    verification: Verification | None = None
    env: dict[str, Any] | None = None
    blackboard_scope: str = ""
    timeout_ms: int = 0
    on_failure: OnFailure | None = None


class Plan(msgspec.Struct, frozen=True):
    """A plan without problems."""

    tasks: tuple[PlanTask, ...]
    digests: dict[str, str]
    """By alias, a hash of everything its result stands on: its definition and, transitively, those
    of what it depends on."""
    summary: str = ""


def _digests(tasks: list[PlanTask]) -> dict[str, str]:
    by_alias = {task.alias: task for task in tasks}
    found: dict[str, str] = {}
    for alias in _ordered(by_alias):
        task = by_alias[alias]
        before = [found[name] for name in sorted(set(task.depends_on))]
        text = msgspec.json.encode([task, before], order="deterministic")
        found[alias] = sha256(text).hexdigest()
    return found


def read_plan(given: object, limits: PlanLimits, text: str = "") -> Plan | list[Problem]:
    """A plan from a planner's answer, or everything that is wrong with it. Whoever has its `text`
    already may say so."""
    text = text or msgspec.json.encode(given).decode()
    return _known(text, limits) if len(text) <= _KNOWN_BYTES_MAX else _read(given, limits)


@lru_cache(maxsize=256)
def _known(text: str, limits: PlanLimits) -> Plan | list[Problem]:
    """The same for plans that come again and again; whoever starts one has it looked at before the
    kernel does."""
    return _read(msgspec.json.decode(text), limits)


def _read(given: object, limits: PlanLimits) -> Plan | list[Problem]:
    if not is_object(given):
        return [Problem("plan", "not an object", 'as in {"tasks": [{"alias": "a", "goal": "…"}]}')]
    found = [
        Problem(name, "not known here", f"one of {', '.join(sorted(_PLAN_FIELDS))}")
        for name in sorted(given.keys() - _PLAN_FIELDS)
    ]
    listed = _listed(given)
    if isinstance(listed, Problem):
        return [*found, listed]
    if len(listed) > limits.plan_tasks:
        reason = f"{len(listed):,} tasks, at most {limits.plan_tasks:,}"
        return [*found, Problem("tasks", reason, "plan less at once")]
    tasks: list[PlanTask] = []
    for at, item in enumerate(listed):
        where = f"tasks[{at}]"
        if not is_object(item):
            found.append(Problem(where, "not an object"))
            continue
        problems = list(_task_problems(item, where, limits))
        found += problems
        if not problems:
            tasks.append(_task(item))
    if not found:
        found += _whole_problems(tasks, limits)
    return found or Plan(tuple(tasks), _digests(tasks), str(given.get("summary") or ""))


def _listed(given: dict[str, Any]) -> list[Any] | Problem:
    """The tasks however they are given: as a list, under its old name, or as one alone."""
    ways = [name for name in ("tasks", "child_tasks", "root") if given.get(name) is not None]
    if len(ways) != 1:
        reason = "no tasks" if not ways else f"{' and '.join(ways)} at once"
        return Problem("plan", reason, "give tasks, or root where one task is all")
    value: Any = given[ways[0]]
    if ways[0] == "root":
        if not is_object(value):
            return Problem("root", "not an object")
        return [{"alias": "root", **value}]
    if not is_list(value) or not value:
        return Problem(ways[0], "not a list of tasks", "at least one")
    return value


def _task_problems(item: dict[str, Any], where: str, limits: PlanLimits) -> Iterator[Problem]:
    for name in sorted(item.keys() - _FIELDS):
        yield Problem(f"{where}.{name}", "not known here", f"one of {', '.join(sorted(_FIELDS))}")
    alias = item.get("alias")
    if not isinstance(alias, str) or not alias or len(alias) > _TEXT_MAX or not _plain(alias):
        hint = "letters of a to z, digits, dots, - and _"
        yield Problem(f"{where}.alias", "a task needs a plain name", hint)
    goal = item.get("goal")
    if not isinstance(goal, str) or not goal.strip():
        yield Problem(f"{where}.goal", "a task needs a goal")
    elif len(goal) > limits.goal_chars:
        yield Problem(f"{where}.goal", f"{len(goal):,} characters, at most {limits.goal_chars:,}")
    yield from _text_problems(item, ("kind", "worker_profile", "blackboard_scope"), where)
    role = item.get("role")
    if role is not None and role not in _ROLES:
        yield Problem(f"{where}.role", "not known here", "one of start, mid, final")
    for name in ("inputs", "env_preconditions"):
        if not is_object(item.get(name) if item.get(name) is not None else {}):
            yield Problem(f"{where}.{name}", "not an object")
    needs: Any = item.get("depends_on") if item.get("depends_on") is not None else []
    if not is_list(needs) or not all(isinstance(need, str) for need in needs):
        yield Problem(f"{where}.depends_on", "not a list of aliases")
    yield from _number_problems(item, where)
    yield from _policy_problems(item, where)


def _text_problems(given: dict[str, Any], names: Iterable[str], where: str) -> Iterator[Problem]:
    """Only what is not there, or null, is left out: a zero, or false, is a mistake."""
    for name in names:
        value = given.get(name)
        if value is not None and (not isinstance(value, str) or len(value) > _TEXT_MAX):
            yield Problem(f"{where}.{name}", f"not a text of at most {_TEXT_MAX} characters")


def _number_problems(item: dict[str, Any], where: str) -> Iterator[Problem]:
    retry: Any = item.get("retry_policy") if item.get("retry_policy") is not None else {}
    if not is_object(retry):
        yield Problem(f"{where}.retry_policy", "not an object")
        retry = {}
    for name in sorted(retry.keys() - _RETRY_FIELDS):
        yield Problem(f"{where}.retry_policy.{name}", "not known here")
    ranges = (
        ("priority", item.get("priority"), -_PRIORITY_MAX, _PRIORITY_MAX, int),
        ("retry_policy.max_attempts", retry.get("max_attempts"), 1, _ATTEMPTS_MAX, int),
        ("retry_policy.backoff_seconds", retry.get("backoff_seconds"), 0, _BACKOFF_S_MAX, float),
        ("timeout_seconds", item.get("timeout_seconds"), 0, _TIMEOUT_S_MAX, float),
    )
    for name, value, low, high, kind in ranges:
        whole = isinstance(value, int) and not isinstance(value, bool)
        right = whole or (kind is float and isinstance(value, float))
        if value is not None and (not right or not low <= value <= high):
            noun = "whole number" if kind is int else "number"
            yield Problem(f"{where}.{name}", f"not a {noun} from {low:,} to {high:,}")


def _policy_problems(item: dict[str, Any], where: str) -> Iterator[Problem]:
    env: Any = item.get("env_preconditions")
    if is_object(env):
        yield from _env_problems(env, f"{where}.env_preconditions")
    policy: Any = item.get("verification_policy")
    if policy is not None and policy != {}:
        read = read_verification(policy, f"{where}.verification_policy", planned=True)
        if not isinstance(read, Verification):
            yield from read
    word = item.get("on_failure")
    if word is not None and word not in [str(known) for known in OnFailure]:
        hint = f"one of {', '.join(OnFailure)}"
        yield Problem(f"{where}.on_failure", "not known here", hint)


def _env_problems(env: dict[str, Any], where: str) -> Iterator[Problem]:
    for name in sorted(env.keys() - _ENV_FIELDS):
        hint = f"one of {', '.join(sorted(_ENV_FIELDS))}"
        yield Problem(f"{where}.{name}", "not known here", hint)
    yield from _text_problems(env, ("kind", "resource_name", "mode"), where)
    if env.get("required") is not None and not isinstance(env["required"], bool):
        yield Problem(f"{where}.required", "not true or false")
    elif env.get("required") and not env.get("resource_name"):
        hint = "choose one of the env_resources"
        yield Problem(f"{where}.resource_name", "no resource is named", hint)
    kept = 0 if env.get("keep_failed_seconds") is None else env["keep_failed_seconds"]
    whole = isinstance(kept, int | float) and not isinstance(kept, bool)
    if not whole or not 0 <= kept <= _TIMEOUT_S_MAX:
        reason = f"not a number from 0 to {_TIMEOUT_S_MAX:,}"
        yield Problem(f"{where}.keep_failed_seconds", reason)


class EnvNeed(NamedTuple):
    """The place a task of a plan is done in."""

    resource: str = ""
    kind: str = ""
    keep_ms: int = 0


def env_need(env: dict[str, Any] | None) -> EnvNeed:
    if not env or not env.get("required"):
        return EnvNeed()
    keep_ms = int(float(env.get("keep_failed_seconds") or 0) * 1000)
    return EnvNeed(env["resource_name"], env.get("kind") or "", keep_ms)


def _task(item: dict[str, Any]) -> PlanTask:
    retry: dict[str, Any] = item.get("retry_policy") or {}
    policy = item.get("verification_policy")
    read = read_verification(policy, "", planned=True) if policy else None
    word = item.get("on_failure")
    return PlanTask(
        alias=item["alias"],
        goal=item["goal"],
        kind=item.get("kind") or "step",
        role=item.get("role") or "",
        inputs=item.get("inputs") or {},
        depends_on=tuple(item.get("depends_on") or ()),
        worker_profile=item.get("worker_profile") or "",
        priority=item.get("priority") or 0,
        attempts_max=retry.get("max_attempts") or 1,
        backoff_ms=int(float(retry.get("backoff_seconds") or 0) * 1000),
        verification=read if isinstance(read, Verification) else None,
        env=item.get("env_preconditions"),
        blackboard_scope=item.get("blackboard_scope") or "",
        timeout_ms=int(float(item.get("timeout_seconds") or 0) * 1000),
        on_failure=OnFailure(word) if word is not None else None,
    )


def _whole_problems(tasks: list[PlanTask], limits: PlanLimits) -> Iterator[Problem]:
    """What is wrong with how the tasks stand together."""
    by_alias: dict[str, PlanTask] = {}
    for at, task in enumerate(tasks):
        if task.alias in by_alias:
            yield Problem(f"tasks[{at}].alias", f'"{task.alias}" is there twice')
        by_alias[task.alias] = task
    edges = sum(len(set(task.depends_on)) for task in tasks)
    if edges > limits.plan_edges:
        yield Problem("tasks", f"{edges:,} dependencies, at most {limits.plan_edges:,}")
    for at, task in enumerate(tasks):
        for need in task.depends_on:
            if need == task.alias:
                yield Problem(f"tasks[{at}].depends_on", f'"{need}" waits for itself')
            elif need not in by_alias:
                yield Problem(f"tasks[{at}].depends_on", f'there is no task "{need:.80}"')
    for role in ("start", "final"):
        if sum(task.role == role for task in tasks) > 1:
            yield Problem("tasks", f"more than one task has the role {role}")
    if all(need in by_alias for task in tasks for need in task.depends_on):
        circle = [alias for alias in by_alias if alias not in set(_ordered(by_alias))]
        if circle:
            yield Problem("tasks", f"these wait for each other: {', '.join(circle[:10])}")


def _ordered(by_alias: dict[str, PlanTask]) -> list[str]:
    """Aliases so that each comes after what it depends on; those in a circle are left out."""
    waits = {alias: len(set(task.depends_on)) for alias, task in by_alias.items()}
    after: dict[str, list[str]] = {alias: [] for alias in by_alias}
    for alias, task in by_alias.items():
        for need in set(task.depends_on):
            if need in after:
                after[need].append(alias)
    ready = [alias for alias, count in waits.items() if not count]
    order: list[str] = []
    while ready:
        alias = ready.pop()
        order.append(alias)
        for later in after[alias]:
            waits[later] -= 1
            if not waits[later]:
                ready.append(later)
    return order


def _plain(alias: str) -> bool:
    return alias.isascii() and all(char.isalnum() or char in "-_." for char in alias)
