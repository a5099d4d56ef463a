"""Forks over HTTP."""

import msgspec

from windlass.protocol.exchange import Wire


class ForkBody(Wire, frozen=True, kw_only=True):
    task: str
    """By its id or its node; the alias of a plan's task."""
    input: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    """What the task is given instead of what it had."""
