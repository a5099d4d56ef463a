"""Environments and images of another machine, served by its `EnvHost` over a channel."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from windlass.drivers.env import browser_config, container_config, noop
from windlass.drivers.env.exchange import IMAGES, Asked
from windlass.drivers.env.printed import Printing
from windlass.drivers.env.remote_host import RemoteHost
from windlass.drivers.env.tunnel import Tunnel
from windlass.ports.env import (
    Config,
    Executed,
    FileChanges,
    MessageSocket,
    OnLog,
    OnOutput,
    Place,
    PlaceSpec,
    RuntimeAway,
    Snapshot,
)

T = TypeVar("T")
_CHECKS: dict[str, Callable[[Config], list[str]]] = {
    "container": container_config.problems,
    "browser": browser_config.problems,
    "noop": noop.problems,
}


class RemoteBackend:
    """Implements `EnvBackend`, and `BrowserBackend` for places that are browsers."""

    def __init__(self, host: RemoteHost, kind: str) -> None:
        self.kind = kind
        self._host = host

    async def capabilities(self) -> dict[str, Any]:
        return await self._ask(dict[str, Any], "capabilities")

    def check(self, config: Config) -> list[str]:
        """By the rules we have here, so that a resource can be made while its host is away."""
        check = _CHECKS.get(self.kind)
        return check(config) if check else []

    async def allocate(self, spec: PlaceSpec) -> Place:
        return await self._ask(Place, "allocate", spec=spec)

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
        given = {
            "name": name,
            "epoch": epoch,
            "command": list(command),
            "stdin": stdin,
            "workdir": workdir,
            "env": dict(env or {}),
            "timeout_s": timeout_s,
            "aloud": on_output is not None,
        }
        asked = Asked(self._host.new_number(), self.kind, "execute", given)
        return await Printing(self._host, asked, on_output).run()

    async def read(self, name: str, epoch: int, path: str) -> bytes:
        return await self._ask(bytes, "read", name=name, epoch=epoch, path=path)

    async def write(self, name: str, epoch: int, path: str, data: bytes) -> None:
        await self._ask(type(None), "write", name=name, epoch=epoch, path=path, data=data)

    async def snapshot(self, name: str, label: str) -> Snapshot:
        return await self._ask(Snapshot, "snapshot", name=name, label=label)

    async def changes(self, name: str, since: str, label: str) -> FileChanges:
        return await self._ask(FileChanges, "changes", name=name, since=since, label=label)

    async def restore(self, spec: PlaceSpec, snapshot: Snapshot) -> Place:
        return await self._ask(Place, "restore", spec=spec, snapshot=snapshot)

    async def inspect(self, name: str) -> str:
        return await self._ask(str, "inspect", name=name)

    async def still(self, name: str, epoch: int) -> None:
        await self._ask(type(None), "still", name=name, epoch=epoch)

    async def release(self, name: str) -> None:
        await self._ask(type(None), "release", name=name)

    async def list(self) -> list[Place]:
        return await self._ask(list[Place], "list")

    async def close(self) -> None:
        return None

    async def screenshot(self, name: str) -> bytes:
        return await self._ask(bytes, "screenshot", name=name)

    async def serve(
        self, name: str, epoch: int, client: MessageSocket, revoked: asyncio.Event
    ) -> str:
        return await Tunnel(self._host, client, revoked).run(self.kind, name, epoch)

    async def _ask(self, result: type[T], method: str, **arguments: Any) -> T:
        return await self._host.ask(result, self.kind, method, **arguments)


class RemoteImages:
    """Implements `ImageBackend`."""

    def __init__(self, host: RemoteHost) -> None:
        self._host = host

    async def capabilities(self) -> dict[str, Any]:
        try:
            return await self._host.ask(dict[str, Any], IMAGES, "capabilities")
        except RuntimeAway as away:
            return {"dockerfile_build": False, "reason": str(away)}

    async def pull(self, ref: str) -> str:
        return await self._host.ask(str, IMAGES, "pull", ref=ref)

    async def build(self, dockerfile: str, tag: str, on_log: OnLog) -> str:
        lines: asyncio.Queue[str | None] = asyncio.Queue()

        async def pass_on() -> None:
            while (line := await lines.get()) is not None:
                await on_log(line)

        given = {"dockerfile": dockerfile, "tag": tag}
        asked = Asked(self._host.new_number(), IMAGES, "build", given)
        passing = asyncio.create_task(pass_on())
        try:
            built = await self._host.talk(asked, lines.put_nowait)
        finally:
            lines.put_nowait(None)
            await passing
        return built
