"""What happened to one pod, in order: from its run's events, and what was seen of it since."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from windlass.engine.engine import Engine
from windlass.engine.pod_list import FoundPod, described
from windlass.engine.runs import get_run
from windlass.model.errors import NotFound
from windlass.model.ids import run_of
from windlass.model.reasons import Reason
from windlass.model.rows import Attempt, Event
from windlass.ports.store import Cond

_EVENTS_MAX = 1_000
_STEPS = {"attempt.claimed": "taken", "attempt.detached": "decided", "attempt.made": "made"}


class PodStep(NamedTuple):
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
    failure_class: str = ""
    reason: Reason | None = None
    """Of `waits`: what for."""


async def find_pod(engine: Engine, attempt_id: str) -> FoundPod:
    """An attempt that is a pod, by its id."""
    run = await get_run(engine, run_of(attempt_id))
    async with engine.store.session() as session:
        rows = await session.rows(Attempt, [attempt_id])
    found = await described(engine, [attempt_id]) if rows and rows[0].external_ref else []
    if not found:
        raise NotFound(f'no attempt "{attempt_id}" of run {run.id} is a pod')
    return found[0]


async def history_of(engine: Engine, found: FoundPod) -> list[PodStep]:
    """What happened to a pod, the oldest first."""
    attempt = found.attempt
    where = [
        Cond("run_id", "=", attempt.run_id),
        Cond("task_id", "=", attempt.task_id),
        Cond("at", ">=", attempt.claimed_at),
    ]
    events = await engine.store.page(Event, where, order="seq", limit=_EVENTS_MAX)
    steps = [step for event in events for step in _steps(event, attempt.id)]
    steps += [PodStep(wait.at, "waits", reason=wait.reason) for wait in found.seen.waits]
    if attempt.cancel_at is not None:
        steps.append(PodStep(attempt.cancel_at, "stopping"))
    # What comes at the same moment keeps its order: events before what was seen after them.
    return sorted(_with_end(steps, attempt), key=lambda step: step.at)


def _steps(event: Event, attempt: str) -> list[PodStep]:
    data: dict[str, Any] = msgspec.json.decode(event.data)
    changes = [one for one in data.get("changes", ()) if one.get("attempt") == attempt]
    if not changes:
        return []
    node = str(data.get("node") or "")
    if event.type in _STEPS:
        return [PodStep(event.at, _STEPS[event.type])]
    if event.type == "attempt.started":
        return [PodStep(event.at, "runs", node=node)]
    return [_ended(event.at, one, node) for one in changes if one.get("state")]


def _ended(at: int, change: Mapping[str, Any], node: str) -> PodStep:
    error: Mapping[str, Any] = change.get("error") or {}
    return PodStep(
        at,
        "ended",
        state=str(change["state"]),
        node=node,
        message=str(error.get("message") or ""),
        failure_class=str(error.get("code") or error.get("kind") or ""),
    )


def _with_end(steps: Sequence[PodStep], attempt: Attempt) -> list[PodStep]:
    """How it ended is also where its run's event of it is about another task, as a cancel is."""
    if attempt.finished_at is None or any(step.kind == "ended" for step in steps):
        return list(steps)
    return [*steps, PodStep(attempt.finished_at, "ended", state=str(attempt.state))]
