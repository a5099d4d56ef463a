"""Attempts that are pods, as the API lists them."""

from windlass.protocol.exchange import Wire
from windlass.protocol.reasons_api import ReasonView


class PodProgressView(Wire, frozen=True, kw_only=True):
    """How far the program in a pod says it is."""

    share: float | None = None
    """Between 0 and 1."""
    message: str = ""
    at: int
    """When it said so."""


class PodView(Wire, frozen=True, kw_only=True):
    """An attempt that is a pod."""

    attempt_id: str
    run_id: str
    flow: str
    task_id: str
    node: str
    number: int
    namespace: str
    pod: str
    """Its name."""
    uid: str = ""
    """Empty until somebody has seen it."""
    image: str = ""
    state: str
    since: int
    """When it came to that state."""
    claimed_at: int
    stopping: bool = False
    """It was asked to stop and has not yet."""
    waits_for: str = ""
    """Why it has not begun, where the server asked is the one that launches it."""
    waits: ReasonView | None = None
    """The same as a code with values."""
    failure_class: str = ""
    reason: str = ""
    """What kind of failure it met, and in words."""
    progress: PodProgressView | None = None


class PodPage(Wire, frozen=True, kw_only=True):
    """A page of pods; `next` is the cursor of the one after, None at the end."""

    items: list[PodView]
    next: str | None = None
    launched: bool
    """Whether any server that is up launches pods."""
    queued: int
    """How many tasks wait for a pod to be made."""
