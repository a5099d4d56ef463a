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
    """Why it has not begun, as a server that launches pods saw it last."""
    waits: ReasonView | None = None
    """The same as a code with values."""
    failure_class: str = ""
    reason: str = ""
    """What kind of failure it met, and in words."""
    progress: PodProgressView | None = None


class PodEventView(Wire, frozen=True, kw_only=True):
    """One thing that happened to a pod."""

    at: int
    kind: str
    """`taken` from its queue, `decided` on under its name, `made` in the cluster, `waits`, `runs`,
    `stopping` or `ended`."""
    state: str = ""
    """Of `ended`: how."""
    node: str = ""
    """Where it is, of the cluster's nodes."""
    message: str = ""
    """In words: why it failed, or what it waits for."""
    failure_class: str = ""
    reason: ReasonView | None = None
    """Of `waits`: the same as a code with values."""


class KubernetesEvent(Wire, frozen=True, kw_only=True):
    """What Kubernetes says happened to a pod, once or several times."""

    type: str
    """`Normal` or `Warning`."""
    reason: str
    """In a word, as in `FailedScheduling`."""
    message: str
    source: str = ""
    """Which part of Kubernetes says so."""
    count: int
    first_at: int
    last_at: int
    """When it came first and last; 0 where Kubernetes does not say."""


class KubernetesEvents(Wire, frozen=True, kw_only=True):
    """Kubernetes' own events of a pod, as a server that launches pods has read them: while it waits
    to begin, and before it is removed."""

    state: str
    """`read`, or `forbidden` where the server's account may not read them."""
    items: list[KubernetesEvent]
    """The most recent last, those that say the same as one."""
    older: int = 0
    """How many more there were, from before those."""
    at: int
    """When they were read and differed from those before."""


class PodDetail(Wire, frozen=True, kw_only=True):
    """A pod with all that is known of it."""

    pod: PodView
    cluster_node: str = ""
    """Where it is or was, of the cluster's nodes; empty until one has taken it."""
    cpu: str = ""
    memory: str = ""
    gpu: int = 0
    """What its node asks for, as Kubernetes writes it."""
    events: list[PodEventView]
    """The oldest first."""
    kubernetes: KubernetesEvents | None = None
    """Kubernetes' own events of it; null until they were asked for."""


class PodPage(Wire, frozen=True, kw_only=True):
    """A page of pods; `next` is the cursor of the one after, None at the end."""

    items: list[PodView]
    next: str | None = None
    launched: bool
    """Whether any server that is up launches pods."""
    queued: int
    """How many tasks wait for a pod to be made."""
