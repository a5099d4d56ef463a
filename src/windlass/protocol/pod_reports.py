"""What the program in a pod says of itself: its result, how far it is, or that it is there."""

from typing import Annotated

import msgspec
from msgspec import Meta

from windlass.protocol.exchange import LOG_CHARS_MAX, Fault, Wire

PODS_PATH = "/api/v1/pods"
REPORT_PATH = f"{PODS_PATH}/report"
"""Called with the attempt's own token, which a pod has in FLOWFORGE_AUTH_TOKEN."""
MESSAGE_CHARS_MAX = 2_000


class PodReport(Wire, frozen=True, kw_only=True, omit_defaults=True):
    """A result, an error, or neither, to say how it goes and to learn whether to go on."""

    attempt_id: str
    output: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    error: Fault | msgspec.UnsetType = msgspec.UNSET
    usage: dict[str, float] = {}
    beat: bool = False
    """The program is there: that, and how far it is, is kept for whoever asks."""
    progress: Annotated[float, Meta(ge=0, le=1)] | None = None
    message: Annotated[str, Meta(max_length=MESSAGE_CHARS_MAX)] = ""
    """What it is at."""
    log: Annotated[str, Meta(max_length=LOG_CHARS_MAX)] = ""
    """What it has logged since it last told."""
    log_offset: Annotated[int, Meta(ge=0, le=LOG_CHARS_MAX)] = 0
    """Where that stands in its log: a piece that is sent again is kept once."""


class PodReported(Wire, frozen=True, kw_only=True):
    status: str
    """`accepted`, `duplicate`, or `stale`: the attempt does not count any more."""
    stop: bool = False
    """Nobody waits for what it does any more."""
    detail: str = ""
