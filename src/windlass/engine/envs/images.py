"""Images of containers: pulled or built by whoever has a runtime, as a job with a log."""

import asyncio
from typing import Any

import msgspec
from msgspec.structs import replace

from windlass.engine.engine import Engine
from windlass.engine.envs.hosts import Hosts
from windlass.engine.envs.resources import check_name
from windlass.engine.loops.outbox import NotHere
from windlass.model.effects import Effect
from windlass.model.env_advice import HOW_TO_GET
from windlass.model.envs import IMAGE, IMAGES, EnvImage, kind_address
from windlass.model.errors import BadRequest, Conflict, NotFound, NotInstalled
from windlass.model.rows import Row
from windlass.model.values import storable
from windlass.ports.env import ImageBackend, PlaceError, RuntimeAway
from windlass.ports.store import Cond

NO_RUNTIME = f"nothing here can pull or build images: {HOW_TO_GET['container']}"
SOURCES = ("registry", "dockerfile")
DOCKERFILE_CHARS_MAX = 256 * 1024
_LOG_CHARS_MAX = 200_000
_SAVE_S = 1.0
"""How often what a build says is kept while it goes on."""


async def get_image(engine: Engine, named: str) -> EnvImage:
    for column in ("id", "name"):
        found = await engine.store.page(EnvImage, [Cond(column, "=", named)], limit=1)
        if found:
            return found[0]
    raise NotFound(f'no image "{named:.120}"; see GET /api/v1/envs/images')


async def create(engine: Engine, hosts: Hosts, wanted: EnvImage, *along: Row) -> EnvImage:
    """Have an image made ready, as a job that somebody with a runtime does."""
    _check(wanted)
    if hosts.images() is None:
        raise NotInstalled(NO_RUNTIME)
    if await engine.store.count(EnvImage, [Cond("name", "=", wanted.name)]):
        raise Conflict(f'there is an image "{wanted.name}" already')
    effect = Effect(
        id=f"image {wanted.id}",
        kind=IMAGE,
        address=kind_address(IMAGES),
        body=msgspec.json.encode({"image": wanted.id}).decode(),
        due_at=wanted.created_at,
        created_at=wanted.created_at,
    )
    await engine.write(wanted, effect, *along)
    return wanted


def _check(image: EnvImage) -> None:
    check_name(image.name)
    if image.source not in SOURCES:
        raise BadRequest(f'source_type "{image.source:.40}": one of {", ".join(SOURCES)}')
    if image.source == "registry" and not image.ref.strip():
        raise BadRequest("image_ref: name the image, as in debian:12")
    if image.source == "dockerfile" and not image.dockerfile.strip():
        raise BadRequest("dockerfile: there is nothing to build")
    if len(image.dockerfile) > DOCKERFILE_CHARS_MAX:
        raise BadRequest(f"dockerfile: at most {DOCKERFILE_CHARS_MAX:,} characters")


class ImageMaker:
    """Does what `create` has promised."""

    def __init__(self, engine: Engine, hosts: Hosts) -> None:
        self._engine = engine
        self._hosts = hosts

    async def make(self, effect: Effect) -> None:
        image_id = msgspec.json.decode(effect.body, type=dict[str, str])["image"]
        picked = self._hosts.images()
        if picked is None:
            raise NotHere(NO_RUNTIME)
        host, backend = picked
        image = await self._change(image_id, status="building", host=host, log="", error="")
        if image is None:
            return
        try:
            digest = await self._made(backend, image)
        except PlaceError as error:
            await self._change(image_id, status="failed", error=storable(str(error)[:4_000]))
        except RuntimeAway as error:
            raise NotHere(str(error)) from error
        else:
            await self._change(image_id, status="ready", digest=digest)

    async def _made(self, backend: ImageBackend, image: EnvImage) -> str:
        if image.source == "registry":
            return await backend.pull(image.ref)
        said: list[str] = []

        async def on_log(line: str) -> None:
            said.append(line)

        saving = asyncio.ensure_future(self._keep_saving(image.id, said))
        try:
            return await backend.build(image.dockerfile, image.ref, on_log)
        finally:
            saving.cancel()
            await asyncio.gather(saving, return_exceptions=True)
            await self._change(image.id, log=_told(said))

    async def _keep_saving(self, image_id: str, said: list[str]) -> None:
        before = 0
        while True:
            await asyncio.sleep(_SAVE_S)
            if len(said) > before:
                before = len(said)
                await self._change(image_id, log=_told(said))

    async def _change(self, image_id: str, **columns: Any) -> EnvImage | None:
        now = self._engine.store.now()
        return await self._engine.update(
            EnvImage, image_id, lambda row: replace(row, **columns, changed_at=now)
        )


def _told(said: list[str]) -> str:
    return storable("\n".join(said)[-_LOG_CHARS_MAX:])
