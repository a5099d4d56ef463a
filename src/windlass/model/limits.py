"""Limits by key: how many attempts may be out at once, and how many may begin in a time.

A definition, or a rule made at runtime, says what a key allows; `LimitUse` is what is taken of it
just now. Something is reserved when an attempt is handed out and settled in the commit that ends
that attempt, so what is in use is always the number of live attempts that hold the key.
"""

from collections.abc import Iterable, Mapping
from hashlib import blake2b

import msgspec

from windlass.model.rows import Json, Row

QUOTAS = "quota:"
"""How keys begin that are of quotas."""
KEY_CHARS_MAX = 200
"""Keys are part of index entries, and of names that people read."""
_AMOUNT = "\t"
"""Stands between a key and an amount, and so in no key."""
FORBIDDEN = frozenset(("\0", _AMOUNT))
_IMAGE = "image:"
PAUSE_MS_MAX = 3_600_000
"""For how long a service may ask everybody to stay away, at once."""


class Limit(msgspec.Struct, frozen=True, array_like=True):
    """What a key allows. None, and a rate of 0, is no bound."""

    key: str
    max: int | None = None
    """Most attempts at once."""
    rate: int = 0
    """Attempts that may begin in `per_ms`."""
    per_ms: int = 1000
    burst: int = 1
    """How many may begin at once after a pause: any `per_ms` sees at most `rate + burst`."""
    budget: int | None = None
    """What attempts may use up of a unit, all in all; see `budgets`."""
    estimate: int = 0
    """What one attempt is expected to use; 0 where nobody knows."""
    trip_after: int = 0
    """Failures in a row that open its breaker; 0 is no breaker."""
    reset_ms: int = 0
    """For how long it stays open before one attempt is tried."""


class LimitUse(Row, frozen=True, kw_only=True):
    """What is taken of a key, over all processes; made when it is first used."""

    TABLE = "limits"
    UPSERT = True
    FIXED = frozenset({"tenant", "key"})
    id: str
    tenant: str
    key: str
    max: int | None = None
    rate: int = 0
    per_ms: int = 1000
    burst: int = 1
    """What the key allowed when it was last asked for."""
    in_use: int = 0
    """Live attempts that hold it."""
    parked: int = 0
    """Tasks that wait for it, at least: none if it is 0. One that was cancelled is found to be gone
    when its turn comes."""
    next_us: int = 0
    """When the next attempt would begin at an even pace, in microseconds."""
    recent: Json = ""
    """Attempts of the last `per_ms`, by slices of it."""
    paused_until: int = 0
    """Its service has asked to be left alone until then."""
    wake_at: int | None = None
    """When to look again for whoever waits; None while only a release can help."""
    used_at: int = 0
    budget: int | None = None
    """Of a budget: what may be used up, as it was when it was last asked for."""
    raised: int = 0
    """What people have added since."""
    spent: int = 0
    reserved: int = 0
    """What live attempts are expected to use."""
    largest: int = 0
    """The most that one attempt has used."""
    asked: int = 0
    """Whether somebody has been asked to raise it."""
    trip_after: int = 0
    reset_ms: int = 0
    """Its breaker, as it was when it was last asked for."""
    failures: int = 0
    """In a row, while the breaker counts them."""
    tripped: int = 0
    """Whether the breaker is open until `paused_until`, and half-open from then on."""


class LimitRule(Row, frozen=True, kw_only=True):
    """What an operator says of keys, whatever definitions say: of one, or of all that begin so."""

    TABLE = "limit_rules"
    UPSERT = True
    FIXED = frozenset({"tenant", "pattern"})
    id: str
    tenant: str
    pattern: str
    """A key, or its beginning and `*`."""
    max: int | None = None
    rate: int | None = None
    """0 lifts the rate that a definition sets; None leaves it."""
    per_ms: int = 1000
    burst: int = 1
    changed_at: int = 0
    changed_by: str = ""
    budget: int | None = None
    """What may be used up of a budget's key, whatever a run was given."""
    trip_after: int | None = None
    """0 takes the breaker of a more general rule away."""
    reset_ms: int = 0

    def covers(self, key: str) -> bool:
        if key.startswith(QUOTAS) and not self.pattern.startswith(QUOTAS):
            return False  # what is counted in other things is meant only where it is named
        if self.pattern.endswith("*"):
            return key.startswith(self.pattern[:-1])
        return key == self.pattern


def usual_burst(rate: int) -> int:
    """How many may begin at once where nobody says: commits hand out many at a time, and one in a
    hundred more is little beside the rate."""
    return max(1, rate // 100)


def limit_id(tenant: str, key: str) -> str:
    """A tenant's key. Names of tenants have no spaces, so no two are the same."""
    return f"{tenant} {key}"


def key_of(id_: str) -> str:
    """The key that an id is of."""
    return id_.partition(" ")[2]


def service_key(service: str) -> str:
    """The key all attempts of a service share, where a rule or a push-back is about them."""
    return f"service:{service}"


def image_key(image: str) -> str:
    """The key all pods of an image share; of a long one as much as fits, and a digest."""
    key = f"{_IMAGE}{image}"
    if len(key) <= KEY_CHARS_MAX:
        return key
    mark = blake2b(image.encode(), digest_size=6).hexdigest()
    return f"{key[: KEY_CHARS_MAX - len(mark) - 1]}~{mark}"


def is_image_key(key: str) -> bool:
    return key.startswith(_IMAGE)


RETRY_KEY = "retries"
"""The key all retries of a tenant share: attempts of tasks that have failed before."""
TENANT_KEY = "tenant"
"""The key all attempts of a tenant share, where a rule is about them."""


def write_limits(limits: Iterable[Limit]) -> Json:
    """Limits as a task keeps them; empty if there are none."""
    listed = list(limits)
    return msgspec.json.encode(listed).decode() if listed else ""


def read_limits(text: Json) -> list[Limit]:
    return msgspec.json.decode(text, type=list[Limit]) if text else []


def write_held(held: Mapping[str, int | None]) -> Json:
    """What an attempt holds: a place of each key, and of budgets an amount."""
    if not held:
        return ""
    entries = [key if amount is None else f"{key}{_AMOUNT}{amount}" for key, amount in held.items()]
    return msgspec.json.encode(entries).decode()


def read_held(text: Json) -> dict[str, int]:
    """The keys an attempt holds a place of, with the amount where one is a budget's, else 0."""
    entries = msgspec.json.decode(text, type=list[str]) if text else []
    parts = [entry.partition(_AMOUNT) for entry in entries]
    return {key: int(amount or 0) for key, _, amount in parts}
