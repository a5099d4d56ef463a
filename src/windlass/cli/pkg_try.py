"""Runs one handler of a package as a worker would, in a place that is gone afterwards."""

import asyncio
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from windlass.model.errors import NotFound
from windlass.protocol.packages.digest import sha256
from windlass.protocol.packages.manifest import Manifest
from windlass.worker.adapters.hosts import HandlerResult, Hosts, Invocation
from windlass.worker.adapters.registry import AdapterRegistry
from windlass.worker.adapters.settings import HostSettings
from windlass.worker.packages.manager import PackageManager
from windlass.worker.packages.settings import PackageSettings
from windlass.worker.resources.registry import Resources
from windlass.worker.resources.settings import resource_settings

WORKER = "try"


def try_handler(
    manifest: Manifest,
    archive: bytes,
    node_type: str,
    params: dict[str, Any],
    *,
    timeout_s: float,
    allow_hooks: bool,
    tell: Callable[[dict[str, Any]], None],
) -> HandlerResult:
    """Install an archive into a folder of its own, call a handler once, and clean up."""
    if manifest.node(node_type) is None:
        known = ", ".join(node.type for node in manifest.nodes)
        raise NotFound(f'the package has no node "{node_type}"; there is {known}')
    with tempfile.TemporaryDirectory(prefix="windlass-try-") as name:
        folder = Path(name)
        path = folder / "package.cwx"
        path.write_bytes(archive)
        hooks = ("*",) if allow_hooks else ()
        settings = PackageSettings(root=folder / "packages", hooks=hooks)
        invocation = Invocation(
            run_id="try",
            task_id="try",
            node_id="try",
            node_type=node_type,
            package=manifest.name,
            version=manifest.version,
            parameters=msgspec.Raw(msgspec.json.encode(params)),
            timeout_ms=round(timeout_s * 1000),
        )
        return asyncio.run(_call(settings, folder, path, sha256(archive), invocation, tell))


async def _call(
    settings: PackageSettings,
    folder: Path,
    path: Path,
    digest: str,
    invocation: Invocation,
    tell: Callable[[dict[str, Any]], None],
) -> HandlerResult:
    registry = AdapterRegistry()
    resources = Resources(resource_settings(folder / "data", WORKER))
    hosts = Hosts(registry, resources, HostSettings(data_dir=folder / "data"))
    manager = PackageManager(settings, registry, hosts.stop)
    try:
        await manager.install(invocation.package, invocation.version, str(path), digest)
        outcome = await hosts.call(invocation, feedback=tell)
        # The result may refer to the file it lies in; it must not go before it was read.
        return msgspec.structs.replace(outcome, result=msgspec.Raw(bytes(outcome.result)))
    finally:
        await hosts.close()
        resources.close()
