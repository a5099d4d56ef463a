"""Flows written in Python: they compile to the same JSON as any other definition."""

from windlass.authoring.calls import branch
from windlass.authoring.conditions import (
    all_of,
    any_of,
    contains,
    eq,
    exists,
    ge,
    gt,
    is_in,
    le,
    lt,
    ne,
    not_,
)
from windlass.authoring.flow import Flow
from windlass.authoring.steps import Branch, End, Step

__all__ = [
    "Branch",
    "End",
    "Flow",
    "Step",
    "all_of",
    "any_of",
    "branch",
    "contains",
    "eq",
    "exists",
    "ge",
    "gt",
    "is_in",
    "le",
    "lt",
    "ne",
    "not_",
]
