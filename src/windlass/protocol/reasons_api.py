"""Reasons as the API gives them."""

from windlass.model.reasons import Reason, ReasonCode, ReasonValues
from windlass.protocol.exchange import Wire


class ReasonView(Wire, frozen=True, kw_only=True):
    """Why something stands where it stands, for whoever words it himself."""

    code: ReasonCode
    values: ReasonValues


def reason_if_any(reason: Reason | None) -> ReasonView | None:
    return None if reason is None else ReasonView(code=reason.code, values=reason.values)


class TaskReasonView(Wire, frozen=True, kw_only=True):
    """Why a task stands where it stands."""

    task: str
    state: str
    text: str
    """The reason in English, as it was when it was asked for."""
    reason: ReasonView


class WhyView(Wire, frozen=True, kw_only=True):
    """Why a run stands where it stands."""

    line: str
    """All of it in English, as it was when it was asked for."""
    reason: ReasonView
    at: int
    """When it was asked for; what is left of a time is counted from here."""
    more: int = 0
    """How many open tasks there are beside the one the reason is of."""
    cancelling: bool = False
    reasons: list[TaskReasonView]
    """Of the first open tasks."""
