"""Pods: the attempts that are some, listed, and what happened to each."""

from starlette.requests import Request
from starlette.responses import Response

from windlass.engine import pod_history, pod_list
from windlass.engine.engine import Engine
from windlass.engine.pod_history import PodStep
from windlass.engine.pod_list import FoundPod, PodFilter
from windlass.engine.pod_records import PodSeen
from windlass.engine.why import is_launched
from windlass.model.errors import BadRequest
from windlass.model.pods import read_ref
from windlass.model.rows import Attempt, read_failure
from windlass.model.states import AttemptState
from windlass.protocol.pod_reports import PODS_PATH
from windlass.protocol.pods_api import (
    KubernetesEvent,
    KubernetesEvents,
    PodDetail,
    PodEventView,
    PodPage,
    PodProgressView,
    PodView,
)
from windlass.protocol.reason_words import say
from windlass.protocol.reasons_api import reason_if_any
from windlass.server.caller import engine_of
from windlass.server.http import page_limit, reply
from windlass.server.paging import cursor_of, like
from windlass.server.routes import Route

_TEXT_CHARS_MAX = 200


async def list_pods(request: Request) -> Response:
    """Pods that live, those of the newest runs first. `state` is `all` or that of attempts that
    are meant; `q` is text in a run's id or the name of its flow, the node or the pod."""
    engine = engine_of(request)
    limit = page_limit(request, 50, 500)
    before = str(cursor_of(request, Attempt, "id") or "")
    found = await pod_list.find_pods(engine, wanted(request), before, limit + 1)
    more = len(found) > limit
    page = PodPage(
        items=[pod_view(engine, row) for row in found[:limit]],
        next=found[limit - 1].attempt.id if more else None,
        launched=await is_launched(engine),
        queued=await pod_list.count_queued(engine),
    )
    return reply(page)


def wanted(request: Request) -> PodFilter:
    query = request.query_params
    state = query.get("state", "")
    if state and state not in {*AttemptState, "all"}:
        raise BadRequest(f'state "{state:.40}": one of all, {", ".join(AttemptState)}')
    for name in ("namespace", "q"):
        text = query.get(name, "")
        if len(text) > _TEXT_CHARS_MAX or "\0" in text:
            raise BadRequest(f"{name}: at most {_TEXT_CHARS_MAX} characters of text")
    text = query.get("q", "").strip().lower()
    return PodFilter(state, query.get("namespace", ""), like(text) if text else "")


def pod_view(engine: Engine, found: FoundPod) -> PodView:
    attempt = found.attempt
    ref = read_ref(attempt.external_ref)
    namespace, _, name = ref.pod.partition("/")
    failure = read_failure(attempt.error)
    waits = found.seen.waits_for if attempt.state is AttemptState.CLAIMED else None
    return PodView(
        attempt_id=attempt.id,
        run_id=attempt.run_id,
        flow=found.run.flow_name,
        task_id=attempt.task_id,
        node=found.task.node,
        number=attempt.number,
        namespace=namespace,
        pod=name,
        uid=ref.uid,
        image=found.spec.image,
        state=attempt.state,
        since=attempt.finished_at or attempt.started_at or attempt.claimed_at,
        claimed_at=attempt.claimed_at,
        stopping=attempt.cancel_at is not None and attempt.finished_at is None,
        waits_for="" if waits is None else say(waits, engine.store.now()),
        waits=reason_if_any(waits),
        failure_class="" if failure is None else failure.code or failure.kind,
        reason="" if failure is None else failure.message,
        progress=progress_view(found),
    )


def progress_view(found: FoundPod) -> PodProgressView | None:
    if found.progress is None:
        return None
    said, at = found.progress
    return PodProgressView(share=said.share, message=said.message, at=at)


async def get_pod(request: Request) -> Response:
    """A pod by its attempt, with what happened to it: when it was taken, made, seen to wait, to run
    and to end, on which of the cluster's nodes; and Kubernetes' own events of it."""
    engine = engine_of(request)
    found = await pod_history.find_pod(engine, request.path_params["id"])
    steps = await pod_history.history_of(engine, found)
    now = engine.store.now()
    return reply(
        PodDetail(
            pod=pod_view(engine, found),
            cluster_node=next((at for step in reversed(steps) if (at := place_of(step))), ""),
            cpu=found.spec.cpu,
            memory=found.spec.memory,
            gpu=found.spec.gpu,
            events=[event_view(step, now) for step in steps],
            kubernetes=kubernetes_view(found.seen),
        )
    )


def place_of(step: PodStep) -> str:
    return step.node or ("" if step.reason is None else step.reason.values.place)


def kubernetes_view(seen: PodSeen) -> KubernetesEvents | None:
    told = seen.events
    if told is None:
        return None
    items = [
        KubernetesEvent(
            type=one.type,
            reason=one.reason,
            message=one.message,
            source=one.source,
            count=one.count,
            first_at=one.first_at,
            last_at=one.last_at,
        )
        for one in told.items
    ]
    return KubernetesEvents(state=told.state, items=items, older=told.older, at=seen.events_at)


def event_view(step: PodStep, now: int) -> PodEventView:
    return PodEventView(
        at=step.at,
        kind=step.kind,
        state=step.state,
        node=step.node,
        message=step.message if step.reason is None else say(step.reason, now),
        failure_class=step.failure_class,
        reason=reason_if_any(step.reason),
    )


_QUERY = ("state", "namespace", "q", "cursor", "limit")
ROUTES = [
    Route("GET", PODS_PATH, list_pods, gives=PodPage, query=_QUERY),
    Route("GET", PODS_PATH + "/{id}", get_pod, gives=PodDetail),
]
