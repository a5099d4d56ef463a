"""A plan's fields are of their own types, or not there: nothing else passes for being empty."""

from typing import Any

import msgspec
import pytest

from tests.hostile_values import ODD
from windlass.model.errors import Problem
from windlass.model.plans import OnFailure, Plan, PlanLimits, PlanTask, read_plan

TEXTS = ("kind", "worker_profile", "blackboard_scope", "role", "on_failure")
OF_ENV = ("kind", "resource_name", "mode")
EMPTY: list[Any] = [0, -0.0, False, [], {}]
"""What a program takes for nothing, and is no text."""


def read(**fields: Any) -> Plan | list[Problem]:
    return read_plan({"tasks": [{"alias": "a", "goal": "g", **fields}]}, PlanLimits())


def blamed(**fields: Any) -> list[str]:
    """The fields a plan is refused for; none where it is taken."""
    found = read(**fields)
    return [] if isinstance(found, Plan) else [problem.path for problem in found]


def task(**fields: Any) -> PlanTask:
    found = read(**fields)
    assert isinstance(found, Plan), found
    return found.tasks[0]


@pytest.mark.parametrize("value", EMPTY, ids=repr)
@pytest.mark.parametrize("name", TEXTS)
def test_what_is_no_text_is_refused_by_its_name(name: str, value: object) -> None:
    assert blamed(**{name: value}) == [f"tasks[0].{name}"]


@pytest.mark.parametrize("value", EMPTY, ids=repr)
@pytest.mark.parametrize("name", OF_ENV)
def test_so_is_what_is_no_text_of_an_environment(name: str, value: object) -> None:
    assert blamed(env_preconditions={name: value}) == [f"tasks[0].env_preconditions.{name}"]


def test_flags_numbers_and_lists_are_of_their_types_too() -> None:
    flags: list[Any] = [0, -0.0, [], {}, ""]
    seconds: list[Any] = [False, [], {}, ""]
    lists: list[Any] = [0, -0.0, False, {}, ""]
    at = "tasks[0].env_preconditions"
    for value in flags:
        assert blamed(env_preconditions={"required": value}) == [f"{at}.required"]
    for value in seconds:
        told = blamed(env_preconditions={"keep_failed_seconds": value})
        assert told == [f"{at}.keep_failed_seconds"]
    for value in lists:
        assert blamed(depends_on=value) == ["tasks[0].depends_on"]


def test_null_is_as_good_as_leaving_it_out() -> None:
    bare = task()
    assert task(**dict.fromkeys(("kind", "worker_profile", "blackboard_scope", "role"))) == bare
    assert task(depends_on=None, on_failure=None, timeout_seconds=None) == bare
    assert (bare.worker_profile, bare.role, bare.depends_on, bare.on_failure) == ("", "", (), None)
    assert task(on_failure="fail_run").on_failure is OnFailure.FAIL_RUN


def test_a_number_that_is_zero_from_below_is_zero() -> None:
    assert str(task(timeout_seconds=-0.0).timeout_ms) == "0"
    assert str(task(priority=msgspec.json.decode(b"-0")).priority) == "0"


@pytest.mark.parametrize("what", ODD)
def test_whatever_stands_in_a_field_it_is_read_or_refused_and_never_breaks(what: str) -> None:
    value = msgspec.json.decode(ODD[what]) if what != "twice" else {"a": [2]}
    for name in (*TEXTS, "inputs", "depends_on", "priority", "timeout_seconds", "retry_policy"):
        found = read(**{name: value})
        assert isinstance(found, Plan | list), name
    for name in (*OF_ENV, "required", "keep_failed_seconds"):
        found = read(env_preconditions={name: value})
        assert isinstance(found, Plan | list), name
