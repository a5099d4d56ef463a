"""Changing what keys allow, while everything runs."""

from windlass.engine.engine import Engine
from windlass.model.budgets import SCALES, unit_of
from windlass.model.errors import BadRequest, NotFound
from windlass.model.limits import (
    FORBIDDEN,
    KEY_CHARS_MAX,
    QUOTAS,
    LimitRule,
    is_image_key,
    limit_id,
    service_key,
)
from windlass.model.quotas import MEASURED, check_quota
from windlass.model.rows import Row
from windlass.ports.store import Cond

_PATTERN_MAX = 2_000
"""Longer than keys of definitions: a task's budget has the task's id in its key."""
_RULES_MAX = 1_000
"""Of one tenant: each is held against every key that is asked for."""


async def set_rule(engine: Engine, rule: LimitRule, *along: Row) -> None:
    """Make or replace a rule; whoever waits for a key it is about is tried under it."""
    check_pattern(rule.pattern)
    if (rule.max, rule.rate, rule.budget, rule.trip_after) == (None,) * 4:
        text = "the rule says nothing; give max, rate, budget, tripAfter or several of them"
        raise BadRequest(text)
    of_something = rule.pattern.startswith(service_key("")) or is_image_key(rule.pattern)
    if rule.trip_after is not None and not of_something:
        text = (
            "a breaker is of a service or an image: service:NAME, image:NAME, or image:* for each"
        )
        raise BadRequest(text)
    if rule.budget is not None and not unit_of(rule.pattern):
        units = ", ".join(f"budget:{unit}" for unit in SCALES)
        raise BadRequest(f'"{rule.pattern}" is no budget; there are {units}, or those of a run')
    if rule.pattern.startswith(QUOTAS):
        _check_quota(rule)
    known = await engine.store.count(LimitRule, [Cond("pattern", "!=", rule.pattern)])
    if known >= _RULES_MAX:
        raise BadRequest(f"there are {known} rules already; remove some, or use patterns")
    await engine.write(rule, *along)
    await engine.system.refresh_limits()


def _check_quota(rule: LimitRule) -> None:
    what = check_quota(rule.pattern)
    if rule.max is None:
        raise BadRequest(f'quota "{rule.pattern}" says how much there may be at once; give max')
    if rule.rate and what in MEASURED:
        raise BadRequest(f'quota "{rule.pattern}" is of amounts, which have no rate')


async def remove_rule(engine: Engine, pattern: str, *along: Row) -> None:
    """Let definitions say again what keys allow."""
    check_pattern(pattern)
    key = limit_id(engine.home, pattern)
    async with engine.store.session() as session:
        found = await session.rows(LimitRule, [key])
    if not found:
        raise NotFound(f'there is no rule on "{pattern}"')
    await engine.write(*along, removed={LimitRule: {key}})
    await engine.system.refresh_limits()


def check_pattern(pattern: str) -> str:
    if not pattern or len(pattern) > _PATTERN_MAX or not FORBIDDEN.isdisjoint(pattern):
        raise BadRequest(f"a key has 1 to {KEY_CHARS_MAX} characters, no NUL and no tab")
    if "*" in pattern[:-1]:
        raise BadRequest(f'"{pattern}": a * stands at the end, for keys that begin so')
    return pattern
