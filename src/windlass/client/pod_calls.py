"""Attempts that are pods: what to ask and what the answer is, as in `calls`."""

from urllib.parse import quote

from windlass.client.paths import API, listing
from windlass.client.requests import ApiCall
from windlass.client.shapes import Page, Shape


class PodProgressInfo(Shape, frozen=True, kw_only=True):
    """How far the program in a pod says it is."""

    share: float | None = None
    message: str = ""
    at: int


class PodInfo(Shape, frozen=True, kw_only=True):
    """An attempt that is a pod."""

    attempt_id: str
    run_id: str
    flow: str
    task_id: str
    node: str
    number: int
    namespace: str
    pod: str
    uid: str = ""
    image: str = ""
    state: str
    since: int
    claimed_at: int
    stopping: bool = False
    waits_for: str = ""
    failure_class: str = ""
    reason: str = ""
    progress: PodProgressInfo | None = None


class PodEventInfo(Shape, frozen=True, kw_only=True):
    """One thing that happened to a pod."""

    at: int
    kind: str
    state: str = ""
    node: str = ""
    message: str = ""
    failure_class: str = ""


class KubernetesEventInfo(Shape, frozen=True, kw_only=True):
    """What Kubernetes says happened to a pod, once or several times."""

    type: str
    reason: str
    message: str
    source: str = ""
    count: int = 1
    first_at: int = 0
    last_at: int = 0


class KubernetesEventsInfo(Shape, frozen=True, kw_only=True):
    """Kubernetes' own events of a pod, the most recent last."""

    state: str
    items: list[KubernetesEventInfo]
    older: int = 0
    at: int = 0


class PodDetailInfo(Shape, frozen=True, kw_only=True):
    """A pod with all that is known of it; what happened to it the oldest first."""

    pod: PodInfo
    cluster_node: str = ""
    cpu: str = ""
    memory: str = ""
    gpu: int = 0
    events: list[PodEventInfo]
    kubernetes: KubernetesEventsInfo | None = None
    """None until they were asked for."""


class PodPageInfo(Page[PodInfo], frozen=True, kw_only=True):
    """A page of pods, and whether there can be more of them."""

    launched: bool = True
    """Whether any server that is up launches pods."""
    queued: int = 0
    """How many tasks wait for a pod to be made."""


def pods(
    *,
    state: str = "",
    namespace: str = "",
    text: str = "",
    limit: int = 50,
    cursor: str | int = "",
) -> ApiCall[PodPageInfo]:
    """Pods that live, those of the newest runs first; `state="all"` for those that ended as well.
    `text` is anywhere in a run's id or the name of its flow, the node or the pod."""
    query = listing(limit, cursor, state=state, namespace=namespace, q=text)
    return ApiCall("GET", f"{API}/pods", PodPageInfo, query)


def pod(attempt_id: str) -> ApiCall[PodDetailInfo]:
    """A pod by its attempt, with what happened to it."""
    return ApiCall("GET", f"{API}/pods/{quote(attempt_id, safe='')}", PodDetailInfo)
