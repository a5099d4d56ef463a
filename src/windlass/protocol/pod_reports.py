"""What the program in a pod says of itself: its result, or that it is still there."""

import msgspec

from windlass.protocol.exchange import Fault, Wire

REPORT_PATH = "/api/v1/pods/report"
"""Called with the attempt's own token, which a pod has in FLOWFORGE_AUTH_TOKEN."""


class PodReport(Wire, frozen=True, kw_only=True, omit_defaults=True):
    """A result, an error, or neither, to learn whether to go on."""

    attempt_id: str
    output: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    error: Fault | msgspec.UnsetType = msgspec.UNSET
    usage: dict[str, float] = {}


class PodReported(Wire, frozen=True, kw_only=True):
    status: str
    """`accepted`, `duplicate`, or `stale`: the attempt does not count any more."""
    stop: bool = False
    """Nobody waits for what it does any more."""
    detail: str = ""
