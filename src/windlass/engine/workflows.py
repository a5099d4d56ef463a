"""Workflows: port graphs kept as flows whose id is the workflow's own.

A run may bring its workflow along. The same text under the same packages is the same version, so
starting a thousand runs of one workflow publishes it once.
"""

from typing import Any
from uuid import UUID, uuid5

import msgspec

from windlass.dialects.workflow import compile_workflow, definition_hash, resolve
from windlass.engine.catalog import catalog_of, packages_named
from windlass.engine.engine import Engine
from windlass.engine.flows import Target, encode
from windlass.engine.workers import get_worker, state_of
from windlass.model.errors import Conflict, DefinitionError, Problem, Unavailable
from windlass.model.resources import ConflictingPins, resource_owner
from windlass.model.rows import Flow, Version
from windlass.model.values import is_list, is_object
from windlass.ports.store import Cond

_NAMES = UUID("0d8f9a53-3d2a-4d0b-9a86-5d3c7c6b7a11")
_PUBLISH_TRIES = 8
_NAME_MAX = 200
_RECENT_MS = 5_000
_RECENT_MAX = 1_000


class PublishedWorkflow(msgspec.Struct, frozen=True):
    """A workflow's version, ready to run."""

    target: Target
    hash: str
    created: bool


async def publish_workflow(
    engine: Engine, definition: object, *, draft: bool = False
) -> PublishedWorkflow:
    """Check a workflow and keep it as a version of the flow with its id.

    A draft may name packages nobody has yet; it cannot run.
    """
    names = packages_named(definition)
    locked: object = None
    if not draft:
        locked = resolve(definition, await catalog_of(engine, names))
    compile_workflow(definition, locked)
    assert is_object(definition)
    lock = None if locked is None else encode(locked)
    digest = definition_hash(definition)
    version_id = str(uuid5(_NAMES, f"{digest}:{lock}:{draft}"))
    for last in (*(False,) * _PUBLISH_TRIES, True):
        try:
            target, created = await _publish(engine, definition, version_id, lock, draft=draft)
            return PublishedWorkflow(target, digest, created)
        except (Conflict, Unavailable):
            # Somebody published to the same workflow at the same moment; look again.
            if last:
                raise
    raise AssertionError("unreachable")


def remember(engine: Engine, digest: str, value: object) -> None:
    """For a moment the same text need not be checked again, though packages may come and go."""
    if len(engine.recent) >= _RECENT_MAX:
        engine.recent.clear()
    engine.recent[digest] = (engine.store.now() + _RECENT_MS, value)


async def _publish(
    engine: Engine, definition: dict[str, object], version_id: str, lock: str | None, *, draft: bool
) -> tuple[Target, bool]:
    flow_id = str(definition["id"]).lower()
    async with engine.store.session() as session:
        versions = await session.rows(Version, [version_id])
        flows = await session.rows(Flow, [flow_id])
    now = engine.store.now()
    name = name_of(definition)
    if not flows:
        await engine.write(Flow(id=flow_id, name=name, created_at=now))
    if versions:
        return Target(flow_id, name, version_id, versions[0].number), False
    where = [Cond("flow_id", "=", flow_id)]
    newest = await engine.store.page(Version, where, order="number", descending=True, limit=1)
    version = Version(
        id=version_id,
        flow_id=flow_id,
        number=newest[0].number + 1 if newest else 1,
        dialect="workflow",
        source=encode(definition),
        status="draft" if draft else "published",
        created_at=now,
        locked=lock,
    )
    await engine.write(version)
    return Target(flow_id, name, version_id, version.number), True


def name_of(definition: dict[str, object]) -> str:
    """What a workflow is called; its id if it has no name."""
    metadata = definition.get("metadata")
    found = metadata.get("name") if is_object(metadata) else None
    name = found if isinstance(found, str) and found.strip() else str(definition["id"])
    return name.replace("/", "-").replace("\0", "")[:_NAME_MAX]


def check_is_workflow(definition: object) -> None:
    """Refuse what has no package at all, which no worker could run."""
    if not packages_named(definition):
        reason = "no node has a package; a worker cannot tell what to run"
        raise DefinitionError([Problem("nodes", reason, 'give each {"package": {"name": …}}')])


async def check_pins(engine: Engine, definition: object) -> None:
    """Refuse a workflow whose authored resources are on several workers, or on one that is gone."""
    assert is_object(definition)
    for node in nodes_in(definition):
        try:
            owner = resource_owner(encode(node.get("parameters")))
        except ConflictingPins as conflict:
            raise Conflict(f"node {node.get('id')}: {conflict}") from conflict
        if owner is not None:
            worker = await get_worker(engine, owner)
            if worker is None or state_of(engine, worker) not in ("online", "draining"):
                text = f'worker "{owner}", which keeps what node {node.get("id")} needs, is gone'
                raise Unavailable(text, 5.0)


def nodes_in(definition: dict[str, Any]) -> list[dict[str, Any]]:
    """The nodes of a workflow, with those of its subgraphs."""
    found = [node for node in list_in(definition, "nodes") if is_object(node)]
    for subgraph in list_in(definition, "subgraphs"):
        inner = subgraph.get("definition") if is_object(subgraph) else None
        if is_object(inner):
            found += nodes_in(inner)
    return found


def list_in(value: dict[str, Any], key: str) -> list[Any]:
    found = value.get(key)
    return found if is_list(found) else []
