"""Spend budgets: how much a tenant, a run or a task may use up, in units that attempts report.

A budget is a kind of limit. Its key is `budget:UNIT` for a tenant, `budget:UNIT:ID` for a run or a
task. An estimate is reserved with an attempt and settled by what the attempt reports. Amounts are
whole numbers wherever they are kept: money in millionths, time in milliseconds.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from windlass.model.rows import Json
from windlass.model.values import is_object

TOKENS = "tokens"
MONEY = "money"
ATTEMPTS = "attempts"
LAUNCHES = "launches"
SECONDS = "seconds"
SCALES = {TOKENS: 1, MONEY: 1_000_000, ATTEMPTS: 1, LAUNCHES: 1, SECONDS: 1_000}
"""The units there are, and how many of what is kept one of them is. Attempts, launches (those that
are pods) and seconds (an attempt's time, from when it is handed out) are counted here; the rest is
reported by workers."""
COUNTED = (ATTEMPTS, LAUNCHES)
REPORTED = (TOKENS, MONEY)
AMOUNT_MAX = 1e12
_PREFIX = "budget:"


class Budget(msgspec.Struct, frozen=True, omit_defaults=True):
    """What may be used up, and what one attempt is expected to use; by unit."""

    max: dict[str, int] = {}
    estimate: dict[str, int] = {}

    def json(self) -> Json:
        """As rows keep it; empty if it says nothing."""
        return msgspec.json.encode(self).decode() if self.max or self.estimate else ""


NO_BUDGET = Budget()


def load_budget(text: Json) -> Budget:
    return msgspec.json.decode(text, type=Budget) if text else NO_BUDGET


def read_budget(given: Any) -> Budget | str:
    """A budget as people write it, `{tokens: 1000, estimate: {tokens: 50}}`; or what is wrong."""
    if not is_object(given):
        return "a budget is an object of amounts by unit"
    rest = {name: value for name, value in given.items() if name != "estimate"}
    allowed = read_amounts(rest)
    if isinstance(allowed, str):
        return allowed
    expected = read_amounts(given.get("estimate") or {})
    if isinstance(expected, str):
        return f"estimate: {expected}"
    return Budget(allowed, expected)


def read_amounts(given: Any) -> dict[str, int] | str:
    """Amounts by unit as they are kept, or what is wrong with them."""
    if not is_object(given):
        return "amounts are an object by unit"
    found: dict[str, int] = {}
    for unit, value in given.items():
        if unit not in SCALES:
            return f'there is no unit "{unit:.40}"; there are {", ".join(SCALES)}'
        if not isinstance(value, int | float) or isinstance(value, bool):
            return f"{unit} is no number"
        if not 0 <= value <= AMOUNT_MAX:
            return f"{unit} is from 0 to {AMOUNT_MAX:.0f}"
        found[unit] = round(value * SCALES[unit])
    return found


def read_usage(given: Any) -> dict[str, int]:
    """What an attempt says it has used; what makes no sense is left out, as its result counts."""
    if not is_object(given):
        return {}
    known = {unit: given[unit] for unit in REPORTED if unit in given}
    found = {unit: read_amounts({unit: value}) for unit, value in known.items()}
    return {unit: kept[unit] for unit, kept in found.items() if not isinstance(kept, str)}


def shown(unit: str, amount: int) -> float | int:
    """An amount as people read it."""
    scale = SCALES[unit]
    return amount if scale == 1 else amount / scale


def shown_all(amounts: Mapping[str, int]) -> dict[str, float | int]:
    return {unit: shown(unit, amount) for unit, amount in amounts.items() if unit in SCALES}


def written(budget: Budget) -> dict[str, Any]:
    """A budget as people write it."""
    said: dict[str, Any] = {**shown_all(budget.max)}
    return {**said, "estimate": shown_all(budget.estimate)} if budget.estimate else said


def budget_key(unit: str, of: str = "") -> str:
    """The key of a run's or task's budget, by its id; of a tenant's without one."""
    return f"{_PREFIX}{unit}:{of}" if of else _PREFIX + unit


def unit_of(key: str) -> str:
    """The unit of a budget's key; empty for a key that is none."""
    if not key.startswith(_PREFIX):
        return ""
    unit = key.split(":", 2)[1]
    return unit if unit in SCALES else ""


def owner_of(key: str) -> str:
    """Whose budget it is, in words."""
    of = key.split(":", 2)[2] if key.count(":") > 1 else ""
    if not of:
        return "the tenant"
    return "the task" if "~" in of else "the run"
