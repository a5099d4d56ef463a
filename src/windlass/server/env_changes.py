"""Resources and images of environments, made and changed by whichever surface is asked."""

import msgspec
from starlette.requests import Request

from windlass.engine.envs import images, resources
from windlass.engine.envs.resources import ResourceChange, get_resource
from windlass.model.envs import (
    EnvImage,
    EnvResource,
    resource_id,
)
from windlass.model.values import storable
from windlass.protocol.envs import (
    EnvImageBody,
    EnvResourceBody,
    EnvResourcePatch,
)
from windlass.server.audit import line
from windlass.server.caller import engine_of, who
from windlass.server.context import context_of


async def resource_made(request: Request, body: EnvResourceBody) -> EnvResource:
    engine = engine_of(request)
    now = engine.store.now()
    wanted = EnvResource(
        id=resource_id(engine.home, body.name),
        tenant=engine.home,
        name=body.name,
        kind=body.kind,
        capacity=body.capacity,
        config=storable(msgspec.json.encode(body.config).decode()),
        metadata=storable(msgspec.json.encode(body.metadata).decode()),
        status=body.status,
        created_at=now,
        created_by=who(request).name,
        changed_at=now,
    )
    noted = line(request, "env.resource.make", "env_resource", wanted.id, kind=body.kind)
    return await resources.create(engine, context_of(request).places.hosts, wanted, noted)


async def resource_changed(request: Request, body: EnvResourcePatch) -> EnvResource:
    engine = engine_of(request)
    row = await get_resource(engine, request.path_params["id"])
    to = ResourceChange(**msgspec.structs.asdict(body))
    noted = line(request, "env.resource.change", "env_resource", row.id)
    return await resources.change(engine, context_of(request).places.hosts, row, to, noted)


async def resource_deleted(request: Request) -> None:
    engine = engine_of(request)
    row = await get_resource(engine, request.path_params["id"])
    noted = line(request, "env.resource.delete", "env_resource", row.id)
    await resources.delete(engine, row, noted)


async def image_made(request: Request, body: EnvImageBody) -> EnvImage:
    engine = engine_of(request)
    now = engine.store.now()
    built = f"localhost/windlass-image/{engine.home}-{body.name}:{now}".lower()
    wanted = EnvImage(
        id=engine.new_id(),
        tenant=engine.home,
        name=body.name,
        source=body.source_type,
        ref=body.image_ref if body.source_type == "registry" else built,
        dockerfile=storable(body.dockerfile),
        metadata=storable(msgspec.json.encode(body.metadata).decode()),
        created_at=now,
        created_by=who(request).name,
        changed_at=now,
    )
    noted = line(request, "env.image.make", "env_image", wanted.id, name=body.name)
    return await images.create(engine, context_of(request).places.hosts, wanted, noted)
