"""Places that are containers, of Docker or podman.

A container is called what its place is called and labelled with all there is to know of it, so
that any process finds it again. The image is pinned by its id when the container is made. A
snapshot is a commit, named `localhost/windlass-env/<place>:<label>`; its digest is taken from that
very image, by its layers or through a container that is never started, so that it tells what was
kept and nothing else. `still` starts the container anew if an earlier holder ran anything: nothing
can hide from it.
"""

import asyncio
from collections import OrderedDict, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from windlass.drivers.env import container_config
from windlass.drivers.env.commands import Commands, restart
from windlass.drivers.env.container_files import ContainerFiles
from windlass.drivers.env.container_store import (
    LABEL,
    NAME,
    SCRATCH,
    SNAPSHOTS,
    ContainerStore,
    place_of,
)
from windlass.drivers.env.contents import changes_of
from windlass.drivers.env.contents import digest_of as digest_of_all
from windlass.drivers.env.docker import DockerApi
from windlass.drivers.env.holders import Holders
from windlass.drivers.env.image_store import ImageStore, digest_of, image_labels
from windlass.drivers.env.layers import Contents, Layers, layers_of
from windlass.drivers.env.names import checked_label, checked_name, whole_path
from windlass.ports.env import (
    Config,
    Executed,
    FileChanges,
    OnOutput,
    Place,
    PlaceError,
    PlaceGone,
    PlaceSpec,
    Snapshot,
    StalePlace,
)

_COMMIT_S = 900.0
_READ_MAX = 2


class ContainerBackend:
    """Implements `EnvBackend` for one runtime; `state` is a folder for what must outlive this
    process. Deployments that share a runtime are told each other's places by `list`, and tell them
    apart by their labels."""

    kind = "container"

    def __init__(self, api: DockerApi, state: Path) -> None:
        self._api = api
        self._holders = Holders(state)
        self._images = ImageStore(api)
        self._files = ContainerFiles(api)
        self._containers = ContainerStore(api, self._files)
        self._commands = Commands(api)
        self._layers = Layers(state / "layers")
        self._read: OrderedDict[str, Contents] = OrderedDict()
        """By image, what was read last."""
        self._locks: dict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def capabilities(self) -> dict[str, Any]:
        told = cast(dict[str, Any], await self._api.get("/version"))
        parts = cast(list[dict[str, str]], told.get("Components") or [])
        engine = parts[0]["Name"] if parts else "Engine"
        return {"runtime": engine, "version": told.get("Version"), "api": told.get("ApiVersion")}

    def check(self, config: Config) -> list[str]:
        return container_config.problems(config)

    async def allocate(self, spec: PlaceSpec) -> Place:
        async with self._locks[checked_name(spec.name)]:
            if await self._containers.look(spec.name) is None:
                ref, policy = spec.config["image"], spec.config.get("pull", "if_not_present")
                image = await self._images.have(ref, policy)
                if NAME in image_labels(image):
                    raise PlaceError(f'image "{ref}" is a snapshot of a place: only that gets it')
                labels = {f"{LABEL}image": ref, f"{LABEL}image-digest": digest_of(image)}
                await self._containers.create(spec, str(image["Id"]), labels)
            return await self._containers.start(spec)

    async def execute(
        self,
        name: str,
        epoch: int,
        command: Sequence[str],
        *,
        stdin: bytes = b"",
        workdir: str = "",
        env: Mapping[str, str] | None = None,
        timeout_s: float = 60.0,
        on_output: OnOutput | None = None,
    ) -> Executed:
        if not command:
            raise PlaceError("there is no command")
        async with self._locks[checked_name(name)]:
            await self._containers.running(name)
            self._holders.admit(name, epoch, runs=True)
            folder = whole_path(workdir) if workdir else ""
            begun = await self._commands.begin(name, command, stdin=stdin, workdir=folder, env=env)
        # Another process may have let a later holder in while this one's command began.
        if self._holders.latest(name) > epoch:
            await begun.end()
        try:
            done = await begun.wait(timeout_s, on_output)
        finally:
            if self._holders.latest(name) > epoch:
                raise StalePlace(f"{name} has another holder, who ended the command")
        if done.code and await self.inspect(name) != "running":
            raise PlaceGone(f"the container {name} ended while it ran a command")
        return done

    async def read(self, name: str, epoch: int, path: str) -> bytes:
        async with self._locks[checked_name(name)]:
            await self._containers.running(name)
            self._holders.admit(name, epoch)
            return await self._files.read(name, whole_path(path))

    async def write(self, name: str, epoch: int, path: str, data: bytes) -> None:
        async with self._locks[checked_name(name)]:
            seen = await self._containers.running(name)
            self._holders.admit(name, epoch)
            owner = await self._files.owner(name, str(seen["Config"]["User"]))
            await self._files.write(name, whole_path(path), data, owner)

    async def snapshot(self, name: str, label: str) -> Snapshot:
        repo = f"{SNAPSHOTS}/{checked_name(name)}"
        ref = f"{repo}:{checked_label(label)}"
        async with self._locks[name]:
            seen = await self._containers.present(name)
            before = await self._images.find(ref)
            params = {"container": name, "repo": repo, "tag": label, "pause": "true"}
            asked: dict[str, Any] = {"params": params, "json": {}, "timeout_s": _COMMIT_S}
            await self._api.call("POST", "/commit", **asked, repeatable=True)
            image = await self._images.find(ref)
            if image is None:
                raise PlaceError(f"the runtime did not keep the snapshot {ref}")
            if before is not None and before["Id"] != image["Id"]:
                # The place itself stands on it, if it was restored from it; then it goes with it.
                await self._images.remove(str(before["Id"]), force=False)
            found = await self._contents(name, str(seen["Image"]), image)
            digest = await asyncio.to_thread(digest_of_all, found.values())
        return Snapshot(ref=ref, digest=digest, size_bytes=int(image.get("Size") or 0))

    async def changes(self, name: str, since: str, label: str) -> FileChanges:
        repo = f"{SNAPSHOTS}/{checked_name(name)}"
        async with self._locks[name]:
            seen = await self._containers.present(name)
            base = str(seen["Image"])
            before = await self._contents(name, base, await self._snapshot(repo, since))
            after = await self._contents(name, base, await self._snapshot(repo, label))
        return await asyncio.to_thread(changes_of, before, after)

    async def _snapshot(self, repo: str, label: str) -> dict[str, Any]:
        image = await self._images.find(f"{repo}:{checked_label(label)}")
        if image is None:
            raise PlaceGone(f"there is no snapshot {repo}:{label}")
        return image

    async def _contents(self, name: str, base: str, image: dict[str, Any]) -> Contents:
        """All that was kept; who has just taken a snapshot asks what changed in it next."""
        key = str(image["Id"])
        found = self._read.pop(key, None) or await self._read_all(name, base, image)
        self._read[key] = found
        while len(self._read) > _READ_MAX:
            self._read.popitem(last=False)
        return found

    async def _read_all(self, name: str, base: str, image: dict[str, Any]) -> Contents:
        """From its layers, or by reading the whole of it."""
        stands_on = await self._images.find(base)
        # A place that was restored stands on a snapshot, which stands on an image of its own.
        while stands_on is not None and NAME in image_labels(stands_on):
            parent = str(stands_on.get("Parent") or "")
            stands_on = await self._images.find(parent) if parent else None
        if stands_on is not None:
            below = len(layers_of(stands_on)[0])
            told = await asyncio.to_thread(self._layers.contents, image, below)
            if told is not None:
                return told
        return await self._containers.contents(name, str(image["Id"]))

    async def restore(self, spec: PlaceSpec, snapshot: Snapshot) -> Place:
        async with self._locks[checked_name(spec.name)]:
            image = await self._images.find(snapshot.ref)
            kept = image_labels(image) if image else {}
            if image is None or NAME not in kept:
                raise PlaceGone(f"there is no snapshot {snapshot.ref}")
            labels = {key: kept[key] for key in kept if key.startswith(f"{LABEL}image")}
            if await self._containers.look(spec.name) is not None:
                await self._containers.remove(spec.name)
            await self._containers.create(spec, str(image["Id"]), labels)
            self._holders.still(spec.name)
            return await self._containers.start(spec)

    async def inspect(self, name: str) -> str:
        seen = await self._containers.look(checked_name(name))
        if seen is None:
            return "gone"
        return "running" if seen["State"]["Status"] in ("running", "paused") else "stopped"

    async def still(self, name: str, epoch: int) -> None:
        async with self._locks[checked_name(name)]:
            await self._containers.present(name)
            before = self._holders.admit(name, epoch)
            if before.ran and before.ran < epoch:
                await restart(self._api, name)
                self._holders.still(name)

    async def release(self, name: str) -> None:
        mark = f"{NAME}={checked_name(name)}"
        async with self._locks[name]:
            for container in await self._containers.of_label(mark):
                await self._containers.remove(str(container["Id"]))
            left = await self._images.of_label(mark)
            # A snapshot of a restored place stands on the one it was restored from.
            while left:
                after = [image for image in left if not await self._images.remove(image)]
                if len(after) == len(left):
                    raise PlaceError(f"snapshots of {name} cannot be removed: {', '.join(after)}")
                left = after
            self._holders.forget(name)
        self._locks.pop(name, None)

    async def list(self) -> list[Place]:
        images = await self._images.labels_of(NAME)
        containers = [
            cast(dict[str, str], c["Labels"]) for c in await self._containers.of_label(NAME)
        ]
        # One that a crash left from taking a digest knows less than the place itself.
        containers.sort(key=lambda labels: SCRATCH not in labels)
        found = {labels[NAME]: place_of(labels) for labels in (*images, *containers)}
        return [found[name] for name in sorted(found)]

    async def close(self) -> None:
        await self._api.close()
