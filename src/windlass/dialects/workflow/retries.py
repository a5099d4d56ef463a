"""How often a node is tried again: `{"maxRetries": 3, "waitMs": 500, "backoff": 2}`."""

from windlass.dialects.workflow.fields import Exact
from windlass.model.graph import Affinity, Retry

RETRY_FIELDS = frozenset(
    {"enabled", "maxRetries", "maxAttempts", "waitMs", "delayMs", "backoff", "maxWaitMs", "jitter"}
)
AFFINITY_FIELDS = frozenset({"key", "mode", "ttlMs"})
_TTL_MS = 3_600_000


def read_retry(fields: Exact) -> Retry:
    """A `retry` object; `maxAttempts` counts the first try too, `delayMs` is another `waitMs`."""
    retry = fields.within("retry", RETRY_FIELDS)
    retries = retry.whole("maxRetries", retry.whole("maxAttempts", 1, low=1) - 1)
    if retry.has("enabled") and not retry.flag("enabled"):
        retries = 0
    return Retry(
        retries_max=retries,
        wait_ms=retry.whole("waitMs", retry.whole("delayMs")),
        factor=retry.number("backoff", 1.0, low=1, high=1000),
        wait_ms_max=retry.whole("maxWaitMs"),
        jitter=retry.number("jitter", 0.0, low=0, high=1),
    )


def read_affinity(fields: Exact) -> Affinity | None:
    """An `affinity` object: tasks with the same key go to the same worker."""
    if not fields.has("affinity"):
        return None
    affinity = fields.within("affinity", AFFINITY_FIELDS)
    key = affinity.needed("key", "tasks with the same key go to the same worker")
    mode = affinity.one_of("mode", ("sticky", "preferred"))
    return Affinity(key, mode == "preferred", affinity.whole("ttlMs", _TTL_MS, low=1))
