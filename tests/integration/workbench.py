"""A worker's packages, hosts and resources put together, without a server."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec

from tests.packages import UV
from windlass.protocol.packages.digest import sha256
from windlass.worker.adapters.hosts import HandlerResult, Hosts, Invocation
from windlass.worker.adapters.registry import AdapterRegistry
from windlass.worker.adapters.settings import HostSettings
from windlass.worker.context import Stop
from windlass.worker.packages.installed import Installed
from windlass.worker.packages.manager import PackageManager
from windlass.worker.packages.settings import PackageSettings
from windlass.worker.resources.registry import Resources
from windlass.worker.resources.settings import ResourceSettings

WORKER = "w-1"


class Workbench:
    def __init__(
        self,
        folder: Path,
        packages: dict[str, Any],
        hosts: dict[str, Any],
        resources: dict[str, Any],
    ) -> None:
        self.folder = folder
        self.root = folder / "packages"
        data = folder / "data"
        registry = AdapterRegistry()
        kept = {"data_dir": data, "worker_id": WORKER, **resources}
        self.resources = Resources(ResourceSettings(**kept))
        quick = {"grace_s": 0.5, "stop_s": 3.0, "backoff_s": 0.01, **hosts}
        self.hosts = Hosts(registry, self.resources, HostSettings(data_dir=data, **quick))
        uv = str(UV) if UV.exists() else ""
        settings = PackageSettings(root=self.root, **{"uv": uv, **packages})
        self.manager = PackageManager(settings, registry, self.hosts.stop)
        self.feedback: list[dict[str, Any]] = []

    async def install(
        self, data: bytes, name: str = "tools", version: str = "1.0.0", **more: Any
    ) -> Installed:
        path = self.folder / f"{sha256(data)[:12]}.cwx"
        path.write_bytes(data)
        return await self.manager.install(name, version, str(path), **more)

    def invocation(self, node_type: str, params: Any = None, **more: Any) -> Invocation:
        known = {
            "run_id": "run-1",
            "task_id": "task-1",
            "node_id": "node-1",
            "package": "tools",
            "version": "1.0.0",
        }
        raw = msgspec.Raw(msgspec.json.encode(params or {}))
        return Invocation(node_type=node_type, parameters=raw, **{**known, **more})

    async def call(
        self, node_type: str = "tools.run", params: Any = None, next_: Any = None, **more: Any
    ) -> HandlerResult:
        invocation = self.invocation(node_type, params, **more)
        return await self.hosts.call(invocation, feedback=self.feedback.append, next_=next_)

    def cancel(self, task_id: str) -> bool:
        """Tell the handlers of a task to stop; false if there are none."""
        running = [(h, p) for h in self.hosts._hosted.values() for p in h.pending]
        found = [(hosted, pending) for hosted, pending in running if pending.task_id == task_id]
        for hosted, pending in found:
            hosted.stop_call(pending, Stop.CANCELLED)
        return bool(found)

    async def result(self, node_type: str = "tools.run", params: Any = None, **more: Any) -> Any:
        outcome = await self.call(node_type, params, **more)
        assert outcome.status == "SUCCEEDED", outcome.error
        return msgspec.json.decode(outcome.result)

    def texts(self, channel: str) -> str:
        """What was said on a channel."""
        chunks = [chunk for body in self.feedback for chunk in body.get("chunks", ())]
        return "".join(chunk["text"] for chunk in chunks if chunk["channel"] == channel)

    def traces(self) -> list[str]:
        """Every file and folder of the packages' root, apart from its lock and workshop."""
        found = sorted(str(path.relative_to(self.root)) for path in self.root.rglob("*"))
        return [name for name in found if name not in (".lock", ".tmp")]


@asynccontextmanager
async def workbench(
    folder: Path,
    *,
    hosts: dict[str, Any] | None = None,
    resources: dict[str, Any] | None = None,
    **packages: Any,
) -> AsyncIterator[Workbench]:
    bench = Workbench(folder, packages, hosts or {}, resources or {})
    try:
        yield bench
    finally:
        await bench.hosts.close()
        bench.resources.close()
