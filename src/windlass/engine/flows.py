"""Flows and their versions: publishing, finding, reading."""

from collections.abc import Callable
from difflib import get_close_matches
from typing import Any
from uuid import UUID, uuid5

import msgspec
from msgspec.structs import replace

from windlass.dialects.flow import compile_flow
from windlass.engine.compiling import compiled
from windlass.engine.engine import Engine
from windlass.engine.params import properties_of
from windlass.kernel.expressions import refs_of
from windlass.model.errors import BadRequest, Conflict, NotFound
from windlass.model.flow_names import NAME_MAX, flaw_of_name
from windlass.model.graph import Graph, Ref, Root
from windlass.model.rows import Flow, Json, Row, Version
from windlass.model.tenants import own_name
from windlass.model.values import check_text, is_object
from windlass.ports.store import Cond

_DESCRIPTION_MAX = 2_000
_SIMILAR_IN = 200
"""Among how many of the newest flows one is looked for that somebody may have meant."""
_NAMES = UUID("5b3cf1f0-77a6-4c38-9e0c-6a1c0b7d1e55")


class Published(msgspec.Struct, frozen=True):
    """What publishing tells: the flow, the version, and whether it is new."""

    flow: Flow
    version: Version
    created: bool

    @property
    def target(self) -> "Startable":
        return target_of(self.flow, self.version)


async def create_flow(
    engine: Engine,
    name: str,
    description: str = "",
    flow_id: str = "",
    noted: Callable[[Flow], Row] | None = None,
) -> Flow:
    """Add a flow without a version. Names need not be unique here; `publish` reuses a name."""
    check_name(name)
    check_text("the description", description)
    flow = Flow(
        id=flow_id or engine.new_id(),
        name=name,
        description=description,
        created_at=engine.store.now(),
        tenant=engine.home,
    )
    await engine.write(flow, *((noted(flow),) if noted is not None else ()))
    return flow


def id_of_name(engine: Engine, name: str) -> str:
    """The id of a flow that is made by its name: two at the same moment then make one."""
    return str(uuid5(_NAMES, own_name(engine.home, name)))


def check_name(name: str) -> None:
    if flaw := flaw_of_name(name):
        raise BadRequest(flaw)


async def find_flow(engine: Engine, name_or_id: str) -> Flow:
    """A flow by its id, or the newest of that name."""
    flow = await _flow_if_any(engine, name_or_id)
    if flow is None:
        raise NotFound(f'no flow "{name_or_id}"; {await _next_move(engine, name_or_id)}')
    return flow


async def _flow_if_any(engine: Engine, name_or_id: str) -> Flow | None:
    async with engine.store.session() as session:
        rows = await session.rows(Flow, [name_or_id])
    if not rows:
        where = [Cond("name", "=", name_or_id)]
        rows = await engine.store.page(Flow, where, order="created_at", descending=True, limit=1)
    return rows[0] if rows else None


async def _next_move(engine: Engine, name: str) -> str:
    """What whoever asked for a flow that is not there may have meant."""
    newest = await engine.store.page(Flow, order="created_at", descending=True, limit=_SIMILAR_IN)
    close = get_close_matches(name[:NAME_MAX], [flow.name for flow in newest], n=1)
    return f'did you mean "{close[0]}"?' if close else "push one with `windlass flow push FILE`"


Along = Callable[[Version], Row]
"""Makes the row that belongs to a version, in the commit that adds it."""


async def publish(
    engine: Engine,
    name: str,
    definition: object,
    *,
    description: str = "",
    status: str = "",
    along: Along | None = None,
) -> Published:
    """Check a definition and add it as the newest version of the flow of that name.

    The same text as the newest version is that version: pushing twice changes nothing.
    """
    check_name(name)
    check_text("the description", description)
    graph = await compiled(definition, lambda: compile_flow(definition))
    description = description or described(definition)
    source = encode(definition)
    done = await engine.change_locks.make(
        (Flow, engine.home, name),
        lambda: _publish(engine, name, source, description, status, along),
    )
    if done.version.dialect == "flow":
        engine.graphs.keep(done.version.id, graph)
    return done


async def _publish(
    engine: Engine, name: str, source: Json, description: str, status: str, along: Along | None
) -> Published:
    flow = await _flow_if_any(engine, name)
    if flow is None:
        flow = await create_flow(engine, name, description, id_of_name(engine, name))
    told = replace(flow, description=description or flow.description)
    newest = await newest_version(engine, flow)
    if newest and newest.source == source and newest.status == (status or "published"):
        if told != flow:
            await engine.write(changed=(told,), stands=(flow,))
        return Published(told, newest, created=False)
    number = newest.number + 1 if newest else 1
    was = flow if told != flow else None
    version = await add_version(
        engine, told, number, source, status or "published", was=was, along=along
    )
    return Published(told, version, created=True)


def described(definition: object) -> str:
    """What a definition says of itself, as lists of flows show it."""
    text = definition.get("description") if is_object(definition) else None
    return text.replace("\0", "").strip()[:_DESCRIPTION_MAX] if isinstance(text, str) else ""


def encode(definition: object) -> Json:
    return msgspec.json.encode(definition).decode()


POCKETFLOW = "pocketflow"
"""The dialect of flows published on that surface: our own, but a call that no worker is there for
fails."""


async def add_next_version(
    engine: Engine, flow: Flow, source: Json, status: str, dialect: str, *, along: Along
) -> Version:
    """Add a checked definition under the next number."""

    async def add() -> Version:
        number = await next_number(engine, flow)
        return await add_version(engine, flow, number, source, status, dialect, along=along)

    return await engine.change_locks.make((Flow, flow.id), add)


async def next_number(engine: Engine, flow: Flow) -> int:
    newest = await newest_version(engine, flow)
    return newest.number + 1 if newest is not None else 1


async def newest_version(engine: Engine, flow: Flow) -> Version | None:
    where = [Cond("flow_id", "=", flow.id)]
    rows = await engine.store.page(Version, where, order="number", descending=True, limit=1)
    return rows[0] if rows else None


async def add_version(
    engine: Engine,
    flow: Flow,
    number: int,
    source: Json,
    status: str,
    dialect: str = "flow",
    *,
    was: Flow | None = None,
    along: Along | None = None,
) -> Version:
    """Add a checked definition under a number that must be free, and its flow with it if that `was`
    something else."""
    taken = [Cond("flow_id", "=", flow.id), Cond("number", "=", number)]
    if await engine.store.page(Version, taken, limit=1, heavy=False):
        raise Conflict(f'flow "{flow.name}" already has version {number}; versions never change')
    version = Version(
        id=engine.new_id(),
        flow_id=flow.id,
        number=number,
        dialect=dialect,
        source=source,
        status=status,
        created_at=engine.store.now(),
    )
    changed, stands = ((flow,), (was,)) if was is not None else ((), ())
    noted = (along(version),) if along else ()
    await engine.write(version, *noted, changed=changed, stands=stands)
    return version


class Startable(msgspec.Struct, frozen=True):
    """What a run is a run of."""

    flow_id: str
    flow_name: str
    version_id: str
    number: int
    dialect: str


def target_of(flow: Flow, version: Version) -> Startable:
    return Startable(flow.id, flow.name, version.id, version.number, version.dialect)


async def find_target(engine: Engine, name_or_id: str, number: int = 0) -> Startable:
    """The version a new run of a flow uses, found in one query; see `find_version`."""
    rows = await engine.store.query(
        "find_target", flow=name_or_id, number=number, tenant=engine.tenant
    )
    if rows:
        return Startable(**rows[0])
    # Only to say what exactly is missing.
    flow = await find_flow(engine, name_or_id)
    version = await find_version(engine, flow, number)
    return target_of(flow, version)


async def find_version(engine: Engine, flow: Flow, number: int = 0) -> Version:
    """A version by its number; without one the newest that is published."""
    where = [Cond("flow_id", "=", flow.id)]
    where.append(Cond("number", "=", number) if number else Cond("status", "=", "published"))
    rows = await engine.store.page(Version, where, order="number", descending=True, limit=1)
    if not rows:
        what = f"version {number}" if number else "published version"
        raise NotFound(f'flow "{flow.name}" has no {what}')
    return rows[0]


def params_used(graph: Graph) -> list[str]:
    """Names of the run parameters a graph declares or reads, for forms and hints."""
    names: dict[str, None] = dict.fromkeys(properties_of(graph.params))
    for node in graph.nodes.values():
        refs: list[Any] = [node.delay, node.signal, node.wait_timeout]
        refs += node.input.values() if isinstance(node.input, dict) else [node.input]
        refs += [ref for case in node.cases for ref in refs_of(case.when)]
        for ref in refs:
            if isinstance(ref, Ref) and ref.root is Root.PARAMS and ref.path:
                names[str(ref.path[0])] = None
    return list(names)
