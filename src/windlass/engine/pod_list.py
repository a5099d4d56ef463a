"""Lists of attempts that are pods: which they are, and what is known of each."""

from collections.abc import Sequence
from typing import NamedTuple

from windlass.engine.engine import Engine
from windlass.engine.pod_progress import PodProgress, progress_of_all
from windlass.engine.pod_records import PodSeen, seen_of
from windlass.model.errors import DefinitionError, NotFound
from windlass.model.graph import Transport
from windlass.model.pods import NO_POD, PodSpec
from windlass.model.queues import transport_of
from windlass.model.rows import Attempt, Run, Task
from windlass.model.states import ATTEMPT_LIVE
from windlass.ports.store import Cond

_NEWEST = "z"
"""Behind the ids of all attempts, which begin with a hexadecimal digit."""


class PodFilter(NamedTuple):
    """Which pods are meant; an empty text is any."""

    state: str = ""
    """A state of attempts, or `all`; empty for those that live."""
    namespace: str = ""
    pattern: str = ""
    """A LIKE pattern, in lower case, of a run's id or the name of a flow, a node or a pod."""


class FoundPod(NamedTuple):
    """An attempt that is a pod, with what else is known of it."""

    attempt: Attempt
    task: Task
    run: Run
    spec: PodSpec
    """What its node says of its pods."""
    progress: tuple[PodProgress, int] | None
    seen: PodSeen


async def find_pods(engine: Engine, filter_: PodFilter, before: str, limit: int) -> list[FoundPod]:
    """Pods, those of the newest runs first, after the attempt `before`."""
    namespace = filter_.namespace.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    asked = {
        "tenant": engine.tenant,
        "state": "" if filter_.state == "all" else filter_.state,
        "namespace": f"{namespace}/%" if namespace else "",
        "pattern": filter_.pattern,
        "before": before or _NEWEST,
        "count_max": limit,
    }
    # Each has an index of its own, so that those that live are found among any number that ended.
    found = [
        row["id"] for name in _queries(filter_) for row in await engine.store.query(name, **asked)
    ]
    return await described(engine, sorted(set(found), reverse=True)[:limit])


def _queries(filter_: PodFilter) -> Sequence[str]:
    if filter_.state == "all":
        return ("live_pods", "ended_pods")
    live = not filter_.state or filter_.state in ATTEMPT_LIVE
    return ("live_pods",) if live else ("ended_pods",)


async def described(engine: Engine, ids: Sequence[str]) -> list[FoundPod]:
    """Attempts that are pods, with what else is known of each."""
    if not ids:
        return []
    attempts = await engine.store.page(
        Attempt, [Cond("id", "in", ids)], descending=True, limit=len(ids), heavy=False
    )
    async with engine.store.session() as session:
        tasks = await session.rows(Task, sorted({row.task_id for row in attempts}))
        runs = await session.rows(Run, sorted({row.run_id for row in attempts}))
    task_by_id = {row.id: row for row in tasks}
    run_by_id = {row.id: row for row in runs}
    progress = await progress_of_all(engine, [row.id for row in attempts])
    seen = await seen_of(engine, [row.id for row in attempts])
    found: list[FoundPod] = []
    for row in attempts:
        task, run = task_by_id.get(row.task_id), run_by_id.get(row.run_id)
        if task is not None and run is not None:  # else it was deleted this moment
            spec, of_pod = await _spec(engine, run, task.node), seen.get(row.id, PodSeen())
            found.append(FoundPod(row, task, run, spec, progress.get(row.id), of_pod))
    return found


async def _spec(engine: Engine, run: Run, node: str) -> PodSpec:
    """What a node says of its pods; nothing where this program cannot read the definition."""
    try:
        graph = await engine.graphs.load_of(run)
    except (NotFound, DefinitionError):
        return NO_POD
    found = graph.nodes.get(node)
    if found is None or found.target is None or found.target.pod is None:
        return NO_POD
    return found.target.pod


async def count_queued(engine: Engine) -> int:
    """How many tasks wait for a pod to be made."""
    rows = await engine.store.query("count_queues")
    return sum(row["n"] for row in rows if transport_of(row["queue"]) == Transport.POD)
