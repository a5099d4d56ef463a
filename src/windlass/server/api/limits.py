"""Limits by key: what is in use, who waits, and the rules operators make at runtime."""

from starlette.requests import Request
from starlette.responses import Response

from windlass.engine.limits.breaker import state_of
from windlass.engine.limits.changing import check_pattern, remove_rule, set_rule
from windlass.engine.limits.rules import Rules
from windlass.model.budgets import SCALES, shown, unit_of
from windlass.model.errors import BadRequest
from windlass.model.limits import LimitRule, LimitUse, limit_id, usual_burst
from windlass.model.quotas import MEASURED, what_of
from windlass.ports.store import Cond
from windlass.protocol.api import OkView, Page
from windlass.protocol.limits_api import LimitRuleBody, LimitRuleView, LimitView
from windlass.server.audit import line
from windlass.server.caller import engine_of, who
from windlass.server.http import read_json, reply
from windlass.server.paging import fetch_filtered, fetch_page
from windlass.server.routes import Route


async def list_limits(request: Request) -> Response:
    """Keys in use, by name; `key` asks for one, `prefix` for those that begin so."""
    engine = engine_of(request)
    key, prefix = request.query_params.get("key"), request.query_params.get("prefix", "")
    where = [Cond("id", "=", limit_id(engine.home, check_pattern(key)))] if key else []
    rows, next_ = await fetch_filtered(
        request,
        LimitUse,
        lambda use: use.key.startswith(prefix),
        where,
        descending=False,
        size=100,
    )
    rules = engine.advance.limiting.rules
    return reply(
        Page(items=[limit_view(row, rules, engine.store.now()) for row in rows], next=next_)
    )


def limit_view(use: LimitUse, rules: Rules, now: int) -> LimitView:
    rule = rules.rule(use.tenant, use.key)
    unit = unit_of(use.key)
    return LimitView(
        key=use.key,
        max=kept_as(use.key, use.max),
        rate=use.rate,
        per_s=use.per_ms / 1000,
        burst=use.burst,
        in_use=kept_as(use.key, use.in_use) or 0,
        waiting=use.parked,
        paused_until=use.paused_until if use.paused_until > now else None,
        next_at=use.wake_at,
        rule="" if rule is None else rule.pattern,
        unit=unit,
        budget=None if use.budget is None or not unit else shown(unit, use.budget + use.raised),
        spent=shown(unit, use.spent) if unit else 0,
        reserved=shown(unit, use.reserved) if unit else 0,
        breaker=state_of(use, now),
        failures=use.failures,
    )


async def list_rules(request: Request) -> Response:
    """Rules, by the keys they are about."""
    rows, next_ = await fetch_page(request, LimitRule, descending=False, size=100)
    return reply(Page(items=[rule_view(row) for row in rows], next=next_))


def rule_view(rule: LimitRule) -> LimitRuleView:
    return LimitRuleView(
        pattern=rule.pattern,
        max=kept_as(rule.pattern, rule.max),
        rate=rule.rate,
        per_s=rule.per_ms / 1000,
        burst=rule.burst,
        changed_at=rule.changed_at,
        changed_by=rule.changed_by,
        budget=None if rule.budget is None else shown(unit_of(rule.pattern), rule.budget),
        trip_after=rule.trip_after,
        reset_s=rule.reset_ms / 1000,
    )


async def put_rule(request: Request) -> Response:
    """Say what keys allow, whatever definitions say; it counts from now on."""
    engine = engine_of(request)
    body = await read_json(request, LimitRuleBody)
    rule = LimitRule(
        id=limit_id(engine.home, body.pattern),
        tenant=engine.home,
        pattern=body.pattern,
        max=most_of(body),
        rate=body.rate,
        per_ms=round(body.per_s * 1000),
        burst=body.burst or usual_burst(body.rate or 0),
        changed_at=engine.store.now(),
        changed_by=who(request).name,
        budget=amount_of(body),
        trip_after=body.trip_after,
        reset_ms=round(body.reset_s * 1000) if body.trip_after is not None else 0,
    )
    said = {"max": body.max, "rate": body.rate, "budget": body.budget}
    said["tripAfter"] = body.trip_after
    noted = line(request, "limit.set", "limit", body.pattern, **said)
    await set_rule(engine, rule, noted)
    return reply(rule_view(rule))


def scale_of(pattern: str) -> int:
    """How many of what is kept one of what people say is."""
    return MEASURED.get(what_of(pattern.removesuffix("*")), 1)


def most_of(body: LimitRuleBody) -> int | None:
    """What may be in use at once, as it is kept."""
    if body.max is None:
        return None
    scale = scale_of(body.pattern)
    if scale == 1 and body.max != int(body.max):
        raise BadRequest(f'max of "{body.pattern}" is a whole number; it is {body.max:g}')
    return round(body.max * scale)


def kept_as(pattern: str, amount: int | None) -> int | float | None:
    """What is kept, as people say it: processors rather than thousandths."""
    scale = scale_of(pattern)
    return amount if amount is None or scale == 1 else amount / scale


def amount_of(body: LimitRuleBody) -> int | None:
    """A budget as it is kept; which keys have one is checked with the rule."""
    if body.budget is None:
        return None
    return round(body.budget * SCALES.get(unit_of(body.pattern), 1))


async def delete_rule(request: Request) -> Response:
    """Remove a rule, named by `pattern`: definitions say again what its keys allow."""
    pattern = check_pattern(request.query_params.get("pattern", ""))
    noted = line(request, "limit.remove", "limit", pattern)
    await remove_rule(engine_of(request), pattern, noted)
    return reply(OkView())


ROUTES = [
    Route(
        "GET",
        "/api/v1/limits",
        list_limits,
        gives=Page[LimitView],
        query=("key", "prefix", "limit", "cursor"),
    ),
    Route(
        "GET",
        "/api/v1/limit-rules",
        list_rules,
        gives=Page[LimitRuleView],
        query=("limit", "cursor"),
    ),
    Route("PUT", "/api/v1/limit-rules", put_rule, "operator", LimitRuleBody, LimitRuleView),
    Route(
        "DELETE", "/api/v1/limit-rules", delete_rule, "operator", gives=OkView, query=("pattern",)
    ),
]
