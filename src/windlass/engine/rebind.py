"""Rebinding: a run's packages are executed elsewhere from now on.

A run keeps to one worker for each package. Rebinding forgets that choice, or makes another one, and
moves what waits for the old worker; what runs there already ends there.
"""

from collections.abc import Callable

import msgspec

from windlass.engine.engine import Engine
from windlass.engine.workers import get_worker, live_workers, serves, state_of
from windlass.kernel.events import RebindRequested
from windlass.model.errors import Conflict, NotFound, Unavailable, WindlassError
from windlass.model.rows import Binding, Row, Run, Worker
from windlass.model.states import RUN_ENDED
from windlass.ports.store import Cond

BATCH = 100
"""Runs of a worker that are moved before anybody else has a turn."""
_BINDINGS_MAX = 10_000
_RETRY_AFTER_S = 5.0


class Rebound(msgspec.Struct, frozen=True):
    """What a rebinding changed: where each package was executed until now."""

    run_id: str
    was: dict[str, str]
    worker_id: str | None = None


async def rebind(engine: Engine, run: Run, worker_id: str | None = None, *along: Row) -> Rebound:
    """Move a run to the worker named, or to any other that has what it needs."""
    if run.state in RUN_ENDED:
        raise Conflict(f"run {run.id} is already {run.state}; nothing of it waits for a worker")
    where = [Cond("run_id", "=", run.id)]
    rows = await engine.store.page(Binding, where, order="package", limit=_BINDINGS_MAX)
    bound = {row.package: row.worker_id for row in rows}
    needed = await packages_of(engine, run)
    if worker_id is None:
        await check_others(engine, needed, bound)
    else:
        await check_target(engine, worker_id, needed)
    await engine.submit(RebindRequested(run.id, worker_id), *along)
    return Rebound(run.id, bound, worker_id)


async def packages_of(engine: Engine, run: Run) -> dict[str, set[str]]:
    """The packages a run calls, each with the versions of it as `name@version`."""
    graph = await engine.graphs.load_of(run)
    found: dict[str, set[str]] = {}
    for node in graph.nodes.values():
        target = node.target
        if target is not None and target.package:
            found.setdefault(target.package, set()).add(f"{target.package}@{target.version}")
    return found


async def get_target(engine: Engine, worker_id: str) -> Worker:
    """A worker of the link that takes work."""
    worker = await get_worker(engine, worker_id)
    if worker is None:
        raise NotFound(f'no worker "{worker_id}"; see GET /api/v1/workers')
    if worker.transport != "link":
        raise Conflict(f'worker "{worker_id}" is not on the link; runs are bound only to those')
    state = state_of(engine, worker)
    if state != "online":
        raise Unavailable(f'worker "{worker_id}" is {state} and takes no work', _RETRY_AFTER_S)
    return worker


async def check_target(engine: Engine, worker_id: str, needed: dict[str, set[str]]) -> None:
    worker = await get_target(engine, worker_id)
    missing = [p for versions in needed.values() for p in versions if not serves(worker, p)]
    if missing:
        text = f'worker "{worker_id}" lacks {", ".join(sorted(missing))}'
        raise Conflict(f"{text}; have it installed there first")


async def check_others(engine: Engine, needed: dict[str, set[str]], bound: dict[str, str]) -> None:
    """Refuse if what is bound to a worker could be executed nowhere else."""
    alive = await live_workers(engine, transport="link")
    for package, owner in bound.items():
        for version in needed.get(package, ()):
            if not any(worker.id != owner and serves(worker, version) for worker in alive):
                text = f'no live worker but "{owner}" has {version}'
                raise Unavailable(f"{text}; start one, or have it installed", _RETRY_AFTER_S)


class Moved(msgspec.Struct, frozen=True):
    """Some runs of a worker: what was moved, why the rest was not, where to go on."""

    done: list[Rebound]
    refused: list[str]
    after: str | None


async def rebind_some(
    engine: Engine,
    worker_id: str,
    target: str | None,
    after: str = "",
    noted: Callable[[Run], Row] | None = None,
) -> Moved:
    """Move runs that are bound to a worker, a bounded number of them, in the order of their ids.
    What is `noted` of each is in the commit that moves it."""
    found = await engine.store.query(
        "bound_runs", worker_id=worker_id, after=after, count_max=BATCH
    )
    ids = [row["run_id"] for row in found]
    async with engine.store.session() as session:
        runs = await session.rows(Run, ids)
    done: list[Rebound] = []
    refused: list[str] = []
    for run in runs:
        try:
            along = (noted(run),) if noted is not None else ()
            done.append(await rebind(engine, run, target, *along))
        except WindlassError as error:
            refused.append(f"{run.id}: {error}")
    return Moved(done, refused, ids[-1] if len(ids) == BATCH else None)
