"""Hints: what somebody tells a plan while it goes on."""

from enum import StrEnum
from typing import Any

import msgspec


class HintKind(StrEnum):
    CONTEXT_UPDATE = "context_update"
    """More about what the run is about, for everyone who comes after."""
    CONSTRAINT_UPDATE = "constraint_update"
    """The same, or more inputs for one task that has not been given its inputs yet."""
    REPLAN_REQUEST = "replan_request"
    """Another plan, made by the planner or brought along as `replacement_plan`."""


class Hint(msgspec.Struct, frozen=True):
    kind: HintKind
    summary: str = ""
    details: dict[str, Any] = {}
    task_id: str = ""
