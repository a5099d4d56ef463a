"""Containers of a runtime that are places: found, made, started, removed and looked through."""

import asyncio
import posixpath
from collections.abc import Mapping
from typing import Any, cast

from windlass.drivers.env import container_config, tars
from windlass.drivers.env.container_files import ContainerFiles
from windlass.drivers.env.docker import DockerApi, Refused, path_of
from windlass.drivers.env.names import WORKSPACE
from windlass.drivers.env.streams import Output
from windlass.ports.env import Place, PlaceError, PlaceGone, PlaceSpec

LABEL = "windlass.env/"
NAME = f"{LABEL}name"
SNAPSHOTS = "localhost/windlass-env"
"""What snapshots are called, before their place and label."""
SCRATCH = f"{LABEL}scratch"
_LOOKS = 6
_LOOK_S = 0.05
"""A runtime notices a moment late that a command has ended."""
_LAST_WORDS = 1_000
_NEW = ("created", "configured", "initialized")

Seen = dict[str, Any]
"""What the runtime tells of a container."""


class ContainerStore:
    def __init__(self, api: DockerApi, files: ContainerFiles) -> None:
        self._api = api
        self._files = files

    async def look(self, name: str) -> Seen | None:
        """A place's container, if there is one; a foreign one of that name is refused."""
        try:
            seen = cast(Seen, await self._api.get(path_of("containers", name, "json")))
        except Refused as refused:
            if refused.status == 404:
                return None
            raise
        # The runtime also looks among ids for one that begins so.
        if str(seen["Name"]).lstrip("/") != name:
            return None
        if labels_of(seen).get(NAME) != name:
            raise PlaceError(f"the runtime has a container {name} that is none of ours")
        return seen

    async def present(self, name: str) -> Seen:
        seen = await self.look(name)
        if seen is None:
            raise PlaceGone(f"there is no container {name}")
        return seen

    async def running(self, name: str) -> Seen:
        seen = await self.present(name)
        if seen["State"]["Status"] != "running":
            raise PlaceGone(f"the container {name} is {seen['State']['Status']}")
        return seen

    async def of_label(self, label: str) -> list[Seen]:
        filters = f'{{"label":["{label}"]}}'
        found = await self._api.get("/containers/json", all="true", filters=filters)
        return cast(list[Seen], found)

    async def create(self, spec: PlaceSpec, image_id: str, labels: Mapping[str, str]) -> None:
        own = {NAME: spec.name}
        given = {f"{LABEL}{key}": value for key, value in spec.labels.items()}
        body = container_config.container(image_id, spec.config, {**given, **labels, **own})
        params = {"name": spec.name}
        try:
            await self._api.call("POST", "/containers/create", params=params, json=body)
        except Refused as refused:
            # Docker says 409 where somebody was quicker, podman 500.
            if refused.status not in (409, 500) or await self.look(spec.name) is None:
                raise

    async def start(self, spec: PlaceSpec) -> Place:
        """Have it run, whatever state it was left in; a new one gets its workspace first."""
        seen = await self.present(spec.name)
        status = seen["State"]["Status"]
        if status in _NEW:
            owner = await self._files.owner(spec.name, container_config.user_of(spec.config))
            folder = tars.archive_of([posixpath.basename(WORKSPACE)], "", None, owner)
            await self._files.put(spec.name, "/", folder)
        if status == "paused":
            await self._api.call("POST", path_of("containers", spec.name, "unpause"))
        elif status != "running":
            await self._api.call("POST", path_of("containers", spec.name, "start"))
            if spec.config.get("command"):
                await self._check_started(spec.name)
        return place_of(labels_of(seen))

    async def _check_started(self, name: str) -> None:
        """A command that ends at once is told with what it said."""
        seen = await self.present(name)
        for _ in range(_LOOKS):
            if seen["State"]["Status"] != "running":
                break
            await asyncio.sleep(_LOOK_S)
            seen = await self.present(name)
        else:
            return
        params = {"stdout": "true", "stderr": "true", "tail": "20"}
        told = await self._api.call("GET", path_of("containers", name, "logs"), params=params)
        said = Output()
        reader = asyncio.StreamReader()
        reader.feed_data(told.content)
        reader.feed_eof()
        await said.read(reader)
        words = bytes(said.out + said.err)[-_LAST_WORDS:].decode(errors="replace").strip()
        code = seen["State"].get("ExitCode")
        raise PlaceError(f"its command ended at once with code {code}; it said: {words}")

    async def remove(self, container: str) -> None:
        try:
            params = {"force": "true", "v": "true"}
            await self._api.call("DELETE", path_of("containers", container), params=params)
        except Refused as refused:
            if refused.status != 404:
                raise

    async def contents(self, name: str, image_id: str) -> dict[str, bytes]:
        """All that an image of a place holds, through a container that is never started."""
        labels = {NAME: name, SCRATCH: "digest"}
        body: dict[str, Any] = {"Image": image_id, "Entrypoint": ["/none"], "Cmd": []}
        body |= {"Labels": labels, "HostConfig": {"NetworkMode": "none"}}
        made = await self._api.call("POST", "/containers/create", json=body)
        scratch = str(made.json()["Id"])
        try:
            return await asyncio.to_thread(self._export, scratch)
        finally:
            await asyncio.shield(self.remove(scratch))

    def _export(self, container: str) -> dict[str, bytes]:
        with self._api.pieces(path_of("containers", container, "export")) as pieces:
            return tars.contents_of(pieces)


def labels_of(seen: Seen) -> dict[str, str]:
    return cast(dict[str, str], seen["Config"].get("Labels") or {})


def place_of(labels: Mapping[str, str]) -> Place:
    """What a container's labels tell of the place that it is."""
    own = {key.removeprefix(LABEL): value for key, value in labels.items() if key.startswith(LABEL)}
    details = {
        "image": own.pop("image", ""),
        "image_digest": own.pop("image-digest", ""),
        "workspace": WORKSPACE,
    }
    given = {key: own[key] for key in own if key not in ("name", "scratch")}
    return Place(name=labels[NAME], details=details, labels=given)
