"""`limits` of a flow or node: keys made of constants, params and input, and what they allow."""

from windlass.dialects.fields import Fields
from windlass.dialects.flow.refs import parse_text
from windlass.dialects.plain import under
from windlass.model.envs import is_env_key
from windlass.model.graph import LimitSpec, Ref, Root
from windlass.model.limits import KEY_CHARS_MAX, usual_burst
from windlass.model.quotas import is_reserved

LIMIT_FIELDS = frozenset({"key", "max", "rate", "per_s", "burst"})
LIMITS_MAX = 8
"""Limits on one node: each is a row that handing a task out reads and writes."""
_COUNT_MAX = 1_000_000
_PER_S_MAX = 86_400.0


def read_limits(fields: Fields) -> tuple[LimitSpec, ...]:
    """The limits an object of a definition has."""
    where = fields.at("limits")
    items = fields.items("limits")
    if len(items) > LIMITS_MAX:
        fields.problems.add(where, f"there are {len(items)} limits, at most {LIMITS_MAX} may be")
        return ()
    return tuple(
        _limit(Fields(item, under(where, index), LIMIT_FIELDS, fields.problems))
        for index, item in enumerate(items)
    )


def _limit(fields: Fields) -> LimitSpec:
    text = fields.text("key")
    if not text:
        hint = 'name what is limited, as in "bank:$params.customer"'
        fields.problems.add(fields.at("key"), "the limit has no key", hint)
    if is_env_key(text):
        hint = 'name the resource with "env", or begin the key with another word'
        fields.problems.add(fields.at("key"), "keys that begin so are of environments", hint)
    if is_reserved(text):
        hint = "begin the key with another word; quotas are set with `windlass limit set`"
        fields.problems.add(fields.at("key"), "keys that begin so are of quotas", hint)
    if not fields.has("max") and not fields.has("rate"):
        hint = "give max (at once), rate (a second), or both"
        fields.problems.add(fields.where, "the limit allows everything", hint)
    for name in ("per_s", "burst"):
        if fields.has(name) and not fields.has("rate"):
            fields.problems.add(fields.at(name), "there is no rate it could belong to")
    rate = _count(fields, "rate") if fields.has("rate") else 0
    return LimitSpec(
        key=_parts(text, fields),
        text=text,
        max=_count(fields, "max") if fields.has("max") else None,
        rate=rate,
        per_ms=round(fields.number("per_s", 1.0, low=0.001, high=_PER_S_MAX) * 1000),
        burst=_count(fields, "burst") if fields.has("burst") else usual_burst(rate),
    )


def _count(fields: Fields, name: str) -> int:
    count = fields.whole(name, 1, low=1)
    if count > _COUNT_MAX:
        fields.problems.add(fields.at(name), f"{count} is more than {_COUNT_MAX:,}")
    return count


def _parts(text: str, fields: Fields) -> tuple[str | Ref, ...]:
    """A key's texts and references, in order."""
    where = fields.at("key")
    if len(text) > KEY_CHARS_MAX:
        fields.problems.add(where, f"a key may have {KEY_CHARS_MAX} characters")
        return ()
    parts = parse_text(text, where, fields.problems)
    for part in parts:
        if isinstance(part, Ref) and part.root not in (Root.PARAMS, Root.INPUT):
            named = ".".join(str(step) for step in (part.root, *part.path))
            hint = "$params and $input are known when a task is queued"
            fields.problems.add(where, f'"${named:.60}" cannot be part of a key', hint)
    return tuple(parts)
