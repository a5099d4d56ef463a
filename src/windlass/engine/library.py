"""The library: workflows that are kept, by their ids, until somebody deletes them.

Deleting marks every version. Runs go on and keep their definitions; whoever publishes or keeps the
workflow again, which starting a run with it does, brings it back.
"""

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from windlass.engine.engine import Engine
from windlass.engine.workflows import DELETED, flow_id_of
from windlass.model.errors import NotFound
from windlass.model.rows import Row, Version
from windlass.ports.store import Cond

_VERSIONS_MAX = 10_000


async def list_workflows(
    engine: Engine, *, pattern: str = "%", after: str = "", limit: int = 50
) -> list[Version]:
    """The newest version of each workflow, by the workflow's id."""
    rows = await engine.store.query(
        "list_workflows", pattern=pattern, after=after, count_max=limit, tenant=engine.tenant
    )
    async with engine.store.session() as session:
        found = await session.rows(Version, [row["version_id"] for row in rows])
    return sorted(found, key=lambda version: version.flow_id)


async def get_workflow(engine: Engine, workflow_id: str) -> Version:
    """The newest version of a workflow."""
    rows = await _versions(engine, workflow_id, limit=1)
    if not rows:
        raise NotFound(f'no workflow "{workflow_id}"; keep one with POST /api/v1/workflows')
    return rows[0]


async def delete_workflow(engine: Engine, workflow_id: str, along: Callable[[int], Row]) -> None:
    """Mark every version deleted; the row `along` makes of how many there were goes with it."""
    rows = await _versions(engine, workflow_id, limit=_VERSIONS_MAX)
    if not rows:
        raise NotFound(f'no workflow "{workflow_id}"')
    deleted = tuple(replace(row, status=DELETED) for row in rows)
    await engine.write(along(len(rows)), changed=deleted)
    engine.recent.clear()


async def _versions(engine: Engine, workflow_id: str, *, limit: int) -> Sequence[Version]:
    where = [
        Cond("flow_id", "in", [workflow_id.lower(), flow_id_of(engine, workflow_id)]),
        Cond("dialect", "=", "workflow"),
        Cond("status", "!=", DELETED),
    ]
    return await engine.store.page(Version, where, order="number", descending=True, limit=limit)
