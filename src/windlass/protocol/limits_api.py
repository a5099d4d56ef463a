"""Limits by key as the API has them: what is in use, and the rules that operators make."""

from typing import Annotated

from msgspec import Meta

from windlass.protocol.exchange import Wire

Pattern = Annotated[str, Meta(min_length=1, max_length=200)]
Count = Annotated[int, Meta(ge=0, le=1_000_000)]


class LimitView(Wire, frozen=True, kw_only=True):
    """One key that is in use, or was a moment ago."""

    key: str
    max: int | float | None
    """Most attempts at once, or runs, or what a quota is of; null where there is no bound."""
    rate: int
    """Attempts that may begin in `perS` seconds; 0 where there is no bound."""
    per_s: float
    burst: int
    in_use: int | float
    waiting: int
    """Tasks that wait for it."""
    paused_until: int | None
    """Its service has asked to be left alone until then."""
    next_at: int | None
    """When somebody who waits is looked at again; null while only the end of another helps."""
    rule: str
    """The rule that says what it allows; empty where definitions do."""
    unit: str
    """Of a budget: what it is counted in; empty for other keys."""
    budget: float | None
    """What may be used up, with what people have added; null where there is no bound."""
    spent: float
    reserved: float
    """What attempts that are out are expected to use."""
    breaker: str
    """`closed`, `open` or `half_open`; empty where there is none."""
    failures: int
    """In a row, as the breaker counts them."""


class LimitRuleBody(Wire, frozen=True, kw_only=True):
    """What keys allow, whatever definitions say. What is left out stays as they say."""

    pattern: Pattern
    """A key, or its beginning and `*`; `service:NAME` and `tenant` are for all tasks of those."""
    max: Annotated[float, Meta(ge=0, le=1_000_000_000)] | None = None
    """0 hands out nothing. A whole number, but for quotas of processors."""
    rate: Count | None = None
    """0 lifts what a definition says."""
    per_s: Annotated[float, Meta(ge=0.001, le=86_400)] = 1.0
    burst: Annotated[int, Meta(ge=1, le=1_000_000)] | None = None
    """A hundredth of the rate, and at least 1, if left out."""
    budget: Annotated[float, Meta(ge=0, le=1e12)] | None = None
    """What may be used up in all, for `budget:tokens` (`money`, `attempts`, `seconds`) of the
    tenant, or `budget:tokens:RUN` of a run."""
    trip_after: Count | None = None
    """Failures in a row after which nobody calls `service:NAME`; 0 is no breaker."""
    reset_s: Annotated[float, Meta(ge=0.001, le=86_400)] = 30.0
    """For how long; then one call is tried."""


class LimitRuleView(Wire, frozen=True, kw_only=True):
    pattern: str
    max: int | float | None
    rate: int | None
    per_s: float
    burst: int
    changed_at: int
    changed_by: str
    budget: float | None
    trip_after: int | None
    reset_s: float
