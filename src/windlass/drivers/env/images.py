"""Container images: pulled from registries, and built from Dockerfiles, with logs as they come.

A build has no files but its Dockerfile, and no network unless it is given one. Whoever stops
waiting for a build or a pull stops it: the runtime sees the connection close. (Podman then begins
no further step, but lets the one that runs come to its end.)
"""

import asyncio
import io
import re
import tarfile
from collections.abc import AsyncGenerator
from typing import Any, cast

from windlass.drivers.env.container_store import NAME, SNAPSHOTS
from windlass.drivers.env.docker import DockerApi
from windlass.drivers.env.image_store import ImageStore, digest_of, error_in, image_labels
from windlass.ports.env import OnLog, PlaceError, RuntimeAway

BUILD_S = 1_800.0
DOCKERFILE_BYTES_MAX = 256 << 10
LOG_LINES_MAX = 20_000
_LINE_MAX = 4_000
_SILENCE_S = 600.0
_PODMAN_NO_NETWORK = "1"
_TAG = re.compile(r"[a-z0-9]+([._/:-]+[A-Za-z0-9]+)*")


class ContainerImages:
    """Implements `ImageBackend`."""

    def __init__(self, api: DockerApi, *, network: str = "none") -> None:
        self._api = api
        self._network = network
        self._store = ImageStore(api)

    async def capabilities(self) -> dict[str, Any]:
        """Whether Dockerfiles can be built here, and if not, why."""
        try:
            await self._api.get("/version")
        except (PlaceError, RuntimeAway) as error:
            return {"dockerfile_build": False, "reason": str(error)}
        return {"dockerfile_build": True, "reason": ""}

    async def pull(self, ref: str) -> str:
        """Fetch an image, also if one of that name is there; returns its digest."""
        return digest_of(await self._store.have(ref, "always"))

    async def build(
        self, dockerfile: str, tag: str, on_log: OnLog, *, timeout_s: float = BUILD_S
    ) -> str:
        """Make an image; returns its digest. What failed is told in the runtime's own words."""
        if not _TAG.fullmatch(tag):
            raise PlaceError(f'"{tag[:80]}" cannot name an image: use "localhost/name:tag"')
        if len(dockerfile.encode()) > DOCKERFILE_BYTES_MAX:
            raise PlaceError(f"the Dockerfile is larger than {DOCKERFILE_BYTES_MAX} bytes")
        if SNAPSHOTS in dockerfile:
            raise PlaceError("the Dockerfile names a snapshot of a place, which only that gets")
        try:
            async with asyncio.timeout(timeout_s):
                await self._build(dockerfile, tag, on_log)
        except TimeoutError as error:
            raise PlaceError(f"the build took longer than {timeout_s:g} s") from error
        built = await self._store.find(tag)
        if built is None:
            raise PlaceError(f'the build ended without an image "{tag}"')
        if NAME in image_labels(built):
            await self._store.remove(str(built["Id"]))
            raise PlaceError("the image stands on a snapshot of a place, which only that gets")
        return digest_of(built)

    async def _build(self, dockerfile: str, tag: str, on_log: OnLog) -> None:
        params = {"t": tag, "rm": "true", "forcerm": "true", "networkmode": await self._mode()}
        messages = self._api.progress(
            "/build",
            timeout_s=_SILENCE_S,
            params=params,
            content=_context(dockerfile),
            headers={"Content-Type": "application/x-tar"},
        )
        lines = 0
        async for line in _lines(messages):
            lines += 1
            if lines < LOG_LINES_MAX:
                await on_log(line)
            elif lines == LOG_LINES_MAX:
                await on_log("… more was said than is kept")

    async def _mode(self) -> str:
        # Podman has numbers here, and takes a word it does not know for the host's network.
        told = cast(dict[str, Any], await self._api.get("/version"))
        podman = "podman" in str(told.get("Components")).lower()
        return _PODMAN_NO_NETWORK if podman and self._network == "none" else self._network

    async def close(self) -> None:
        await self._api.close()


async def _lines(messages: AsyncGenerator[dict[str, Any], None]) -> AsyncGenerator[str, None]:
    """What a build says, line by line; its failure raises."""
    waiting = ""
    async for message in messages:
        if said := error_in(message):
            if waiting:
                yield waiting[:_LINE_MAX]
            raise PlaceError(f"the build failed: {said}")
        *lines, waiting = (waiting + str(message.get("stream") or "")).split("\n")
        for line in lines:
            yield line[:_LINE_MAX].rstrip("\r")
        waiting = waiting[:_LINE_MAX]
    if waiting:
        yield waiting


def _context(dockerfile: str) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        data = dockerfile.encode()
        entry = tarfile.TarInfo("Dockerfile")
        entry.size = len(data)
        archive.addfile(entry, io.BytesIO(data))
    return packed.getvalue()
