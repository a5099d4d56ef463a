"""Resources: what places there may be, and how many of each."""

from typing import Any

import msgspec
from msgspec.structs import replace

from windlass.engine.engine import Engine
from windlass.engine.envs.hosts import Hosts
from windlass.engine.jobs import Outdated
from windlass.model.envs import KINDS, NAME_CHARS_MAX, EnvResource, EnvSession, EnvState
from windlass.model.errors import BadRequest, Conflict, NotFound, NotInstalled
from windlass.model.rows import Json, Row
from windlass.model.values import storable
from windlass.ports.store import Cond

CAPACITY_MAX = 10_000
RESOURCES_MAX = 1_000
"""Of one tenant: every process keeps all of them in memory."""
STATUSES = ("active", "disabled", "archived")
_CONFIG_CHARS_MAX = 100_000


class ResourceChange(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be another; None leaves it."""

    capacity: int | None = None
    config: dict[str, Any] | None = None
    metadata: dict[str, Any] | None = None
    status: str | None = None


async def get_resource(engine: Engine, named: str) -> EnvResource:
    """A resource by its id or its name."""
    for column in ("id", "name"):
        found = await engine.store.page(EnvResource, [Cond(column, "=", named)], limit=1)
        if found:
            return found[0]
    raise NotFound(f'no resource "{named:.120}"; see GET /api/v1/envs/resources')


async def create(engine: Engine, hosts: Hosts, wanted: EnvResource, *along: Row) -> EnvResource:
    """Make a resource; its places are made when tasks need them."""
    _check(hosts, wanted)
    missing = hosts.missing(wanted.kind)
    if missing:
        raise NotInstalled(missing)
    if await engine.store.count(EnvResource, []) >= RESOURCES_MAX:
        raise BadRequest(f"there are {RESOURCES_MAX:,} resources already; delete some")
    if await engine.store.count(EnvResource, [Cond("id", "=", wanted.id)]):
        raise Conflict(f'there is a resource "{wanted.name}" already')
    await engine.write(wanted, *along)
    await engine.system.refresh_limits()
    return wanted


async def change(
    engine: Engine, hosts: Hosts, resource: EnvResource, to: ResourceChange, *along: Row
) -> EnvResource:
    """Change what is named, and nothing else. Places that are there stay as they are."""
    columns: dict[str, Any] = {
        name: _encode(value) if name in ("config", "metadata") else value
        for name in to.__struct_fields__
        if (value := getattr(to, name)) is not None
    }

    def changed(now: EnvResource) -> EnvResource:
        new = replace(now, **columns, changed_at=engine.store.now())
        _check(hosts, new)
        return new

    done = await engine.update(EnvResource, resource.id, changed, *along)
    if done is None:
        raise NotFound(f'resource "{resource.name}" was deleted just now')
    await engine.system.refresh_limits()
    return done


async def delete(engine: Engine, resource: EnvResource, *along: Row) -> None:
    if await _sessions(engine, resource):
        text = "has sessions; disable it, and delete it when they are over"
        raise Conflict(f'"{resource.name}" {text}')
    # As it stands once it is this one's turn: others may have changed it since it was found.
    async with engine.change_locks.of((EnvResource, resource.id)):
        stands = await get_resource(engine, resource.id)
        try:
            await engine.write(*along, removed={EnvResource: {stands.id}}, stands=(stands,))
        except Outdated as error:
            text = f'"{resource.name}" has just been changed; look, and delete it again'
            raise Conflict(text) from error
    await engine.system.refresh_limits()


async def _sessions(engine: Engine, resource: EnvResource) -> int:
    alive = [Cond("resource_id", "=", resource.id), Cond("state", "!=", str(EnvState.RELEASED))]
    return await engine.store.count(EnvSession, alive)


def _check(hosts: Hosts, resource: EnvResource) -> None:
    if resource.kind not in KINDS:
        raise BadRequest(f'kind "{resource.kind:.40}": one of {", ".join(KINDS)}')
    check_name(resource.name)
    if not 1 <= resource.capacity <= CAPACITY_MAX:
        raise BadRequest(f"capacity: from 1 to {CAPACITY_MAX:,}")
    if resource.status not in STATUSES:
        raise BadRequest(f'status "{resource.status:.40}": one of {", ".join(STATUSES)}')
    if len(resource.config) + len(resource.metadata) > _CONFIG_CHARS_MAX:
        raise BadRequest(f"config and metadata have at most {_CONFIG_CHARS_MAX:,} characters")
    picked = hosts.pick(resource.kind)
    if picked is not None:
        problems = picked[1].check(msgspec.json.decode(resource.config))
        if problems:
            raise BadRequest("; ".join(problems))


def check_name(name: str) -> None:
    """Of resources and images: part of ids, of limits' keys and of what runtimes call things."""
    plain = name.isascii() and all(c.isalnum() or c in "._-" for c in name)
    if not name or len(name) > NAME_CHARS_MAX or not plain:
        text = f"1 to {NAME_CHARS_MAX} letters, digits, dots, - and _"
        raise BadRequest(f'name "{name:.40}": {text}')


def _encode(value: dict[str, Any]) -> Json:
    return storable(msgspec.json.encode(value).decode())
