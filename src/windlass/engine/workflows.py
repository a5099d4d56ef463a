"""Workflows: port graphs kept as flows whose id is the workflow's own.

A run may bring its workflow along. The same text under the same packages is the same version, so
starting a thousand runs of one workflow publishes it once.
"""

import contextlib
from collections.abc import Mapping
from typing import Any
from uuid import UUID, uuid5

import msgspec
from msgspec.structs import replace

from windlass.dialects.workflow import (
    NodeOrigin,
    check_workflow,
    definition_hash,
    is_uuid,
    outline,
    resolve,
)
from windlass.engine.catalog import catalog_of, packages_named, plans_something
from windlass.engine.compiling import compiled
from windlass.engine.engine import Engine
from windlass.engine.flows import (
    Along,
    Startable,
    described,
    encode,
    newest_version,
    next_number,
    target_of,
)
from windlass.engine.workers import get_worker, state_of
from windlass.model.errors import (
    Conflict,
    DefinitionError,
    Problem,
    Unavailable,
)
from windlass.model.resources import ConflictingPins, resource_owner
from windlass.model.rows import Flow, Version
from windlass.model.tenants import DEFAULT, own_name
from windlass.model.values import is_list, is_object

DELETED = "deleted"
"""The status of every version of a workflow that was deleted: kept for its runs, shown no more."""
_OUTLINES_MAX = 1_000
_NAMES = UUID("0d8f9a53-3d2a-4d0b-9a86-5d3c7c6b7a11")
_NAME_MAX = 200
_RECENT_MS = 5_000
_RECENT_MAX = 1_000


class PublishedWorkflow(msgspec.Struct, frozen=True):
    """A workflow's version, ready to run."""

    target: Startable
    hash: str
    created: bool
    warnings: tuple[Problem, ...] = ()


async def publish_workflow(
    engine: Engine, definition: object, *, draft: bool = False, along: Along | None = None
) -> PublishedWorkflow:
    """Check a workflow and keep it as a version of the flow with its id.

    A draft may name packages nobody has yet; it cannot run.
    """
    names = packages_named(definition)
    locked: object = None
    if not draft:
        catalog = await catalog_of(engine, names)
        locked = await compiled(definition, lambda: resolve(definition, catalog))
    strict = engine.settings.strict_workflows
    checked = await compiled(definition, lambda: check_workflow(definition, locked, strict=strict))
    warnings = checked.warnings
    assert is_object(definition)
    lock = None if locked is None else encode(locked)
    digest = definition_hash(definition)
    target, created = await engine.change_locks.make(
        (Flow, flow_id_of(engine, str(definition["id"]))),
        lambda: (
            _keep_draft(engine, definition, digest, along)
            if draft
            else _publish(engine, definition, digest, lock, along)
        ),
    )
    return PublishedWorkflow(target, digest, created, warnings)


async def up_to_date(engine: Engine, target: Startable) -> Startable:
    """The version a run of a workflow that was published before should use: where it says which
    other versions of a package will do, and nobody has the one it took then, one that took
    another."""
    key = f"up to date: {target.version_id}"
    known: Startable | None = recalled(engine, key)
    if known is not None:
        return known
    async with engine.store.session() as session:
        [version] = await session.rows(Version, [target.version_id])
    if version.dialect == "workflow" and '"minVersion"' in version.source:
        # If nobody has any that will do, the run says what it waits for.
        with contextlib.suppress(DefinitionError):
            target = (await publish_workflow(engine, msgspec.json.decode(version.source))).target
    remember(engine, key, target)
    return target


def remember(engine: Engine, digest: str, value: object) -> None:
    """For a moment the same text need not be checked again, though packages may come and go."""
    if len(engine.recent) >= _RECENT_MAX:
        engine.recent.clear()
    engine.recent[engine.home, digest] = (engine.store.now() + _RECENT_MS, value)


def recalled(engine: Engine, digest: str) -> Any:
    """What was remembered a moment ago; None if it is too long ago."""
    known = engine.recent.get((engine.home, digest))
    return known[1] if known is not None and known[0] > engine.store.now() else None


async def _publish(
    engine: Engine,
    definition: dict[str, object],
    digest: str,
    lock: str | None,
    along: Along | None,
) -> tuple[Startable, bool]:
    """The version of this text under these packages, made if it is new."""
    version_id = version_id_of(engine, f"{digest}:{lock}:False")
    async with engine.store.session() as session:
        versions = await session.rows(Version, [version_id])
    flow = await _keep_flow(engine, definition)
    if not versions:
        number = await next_number(engine, flow)
        version = await _add(engine, flow, version_id, number, definition, lock, along=along)
        return target_of(flow, version), True
    if versions[0].status == DELETED:
        back = replace(versions[0], status="published")
        noted = (along(back),) if along else ()
        await engine.write(*noted, changed=(back,), stands=(versions[0],))
    return target_of(flow, versions[0]), False


async def _keep_draft(
    engine: Engine, definition: dict[str, object], digest: str, along: Along | None
) -> tuple[Startable, bool]:
    """A draft is always the newest version: text that was replaced and comes back is a new one."""
    flow = await _keep_flow(engine, definition)
    newest = await newest_version(engine, flow)
    if newest is not None and (newest.source, newest.status) == (encode(definition), "draft"):
        return target_of(flow, newest), False
    number = newest.number + 1 if newest is not None else 1
    version_id = version_id_of(engine, f"{digest}:draft:{number}")
    version = await _add(
        engine, flow, version_id, number, definition, None, status="draft", along=along
    )
    return target_of(flow, version), True


def version_id_of(engine: Engine, text: str) -> str:
    return str(uuid5(_NAMES, own_name(engine.home, text)))


def flow_id_of(engine: Engine, workflow_id: str) -> str:
    """The id of the flow a workflow is kept as. The first editors gave plain words, which another
    kind of flow may have for its id too; two tenants may keep the same workflow."""
    if is_uuid(workflow_id):
        workflow_id = workflow_id.lower()
        if engine.home == DEFAULT:
            return workflow_id
    return str(uuid5(_NAMES, own_name(engine.home, f"workflow:{workflow_id}")))


async def _keep_flow(engine: Engine, definition: dict[str, object]) -> Flow:
    flow_id, name = flow_id_of(engine, str(definition["id"])), name_of(definition)
    text = described(definition.get("metadata")) or described(definition)
    async with engine.store.session() as session:
        found = await session.rows(Flow, [flow_id])
    if not found:
        flow = Flow(
            id=flow_id,
            name=name,
            description=text,
            created_at=engine.store.now(),
            tenant=engine.home,
        )
        with contextlib.suppress(Conflict):  # somebody keeps the same at the same moment
            await engine.write(flow)
        return flow
    flow = replace(found[0], name=name, description=text or found[0].description)
    if flow != found[0]:
        await engine.write(changed=(flow,), stands=(found[0],))
    return flow


async def _add(
    engine: Engine,
    flow: Flow,
    version_id: str,
    number: int,
    definition: dict[str, object],
    lock: str | None,
    status: str = "published",
    *,
    along: Along | None = None,
) -> Version:
    version = Version(
        id=version_id,
        flow_id=flow.id,
        number=number,
        dialect="workflow",
        source=encode(definition),
        status=status,
        created_at=engine.store.now(),
        locked=lock,
    )
    await engine.write(version, *((along(version),) if along else ()))
    return version


def name_of(definition: dict[str, object]) -> str:
    """What a workflow is called; its id if it has no name."""
    metadata = definition.get("metadata")
    found = metadata.get("name") if is_object(metadata) else None
    name = found if isinstance(found, str) and found.strip() else str(definition["id"])
    return name.replace("/", "-").replace("\0", "")[:_NAME_MAX]


def check_is_workflow(definition: object) -> None:
    """Refuse what has no package at all and plans nothing, which no worker could run."""
    if not packages_named(definition) and not plans_something(definition):
        reason = "no node has a package; a worker cannot tell what to run"
        raise DefinitionError([Problem("nodes", reason, 'give each {"package": {"name": …}}')])


async def check_pins(engine: Engine, definition: object) -> None:
    """Refuse a workflow whose authored resources are on several workers, or on one that is gone."""
    assert is_object(definition)
    # A middleware is a task of its own, and may be pinned elsewhere than the node behind it.
    tasks = [(node, task) for node in nodes_in(definition) for task in tasks_of(node)]
    for node, task in tasks:
        try:
            owner = resource_owner(encode(task.get("parameters")))
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


def tasks_of(node: dict[str, Any]) -> list[dict[str, Any]]:
    """A node and the middlewares before it."""
    return [node, *(item for item in list_in(node, "middlewares") if is_object(item))]


def list_in(value: dict[str, Any], key: str) -> list[Any]:
    found = value.get(key)
    return found if is_list(found) else []


def outline_of(engine: Engine, version: Version) -> Mapping[str, NodeOrigin]:
    """Where the nodes of a workflow went in its graph; a version never changes."""
    known: dict[str, NodeOrigin] | None = engine.outlines.get(version.id)
    if known is None:
        if len(engine.outlines) >= _OUTLINES_MAX:
            engine.outlines.clear()
        locked = None if version.locked is None else msgspec.json.decode(version.locked)
        known = outline(msgspec.json.decode(version.source), locked)
        engine.outlines[version.id] = known
    return known
