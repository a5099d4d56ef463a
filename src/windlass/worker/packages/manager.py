"""The packages of a worker: installed and removed while it works, and told to whoever asks."""

import asyncio
import logging
import threading
from collections import defaultdict
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from windlass.protocol.packages import versions
from windlass.protocol.packages.digest import same
from windlass.protocol.packages.errors import MISSING, PackageError
from windlass.worker.adapters.registry import AdapterRegistry
from windlass.worker.packages.installed import Installed, Inventoried, scan
from windlass.worker.packages.installer import Installer
from windlass.worker.packages.settings import PackageSettings

log = logging.getLogger(__name__)

T = TypeVar("T")
StopHost = Callable[[str, str], Awaitable[None]]


async def _nothing(_package: str, _version: str) -> None:
    """There are no hosts to stop."""


class PackageManager:
    """Keeps `registry` in step with what is on disk. Belongs to one event loop."""

    def __init__(
        self,
        settings: PackageSettings,
        registry: AdapterRegistry,
        stop_host: StopHost = _nothing,
    ) -> None:
        self.registry = registry
        self.stop_host = stop_host
        """Ends the process of a version that is about to go."""
        self._settings = settings
        self._installer = Installer(settings)
        self._installed: dict[tuple[str, str], Installed] = {}
        self._failed: dict[tuple[str, str], str] = {}
        self._busy: dict[tuple[str, str], asyncio.Lock] = defaultdict(asyncio.Lock)
        self._installer.tidy()
        for found in scan(self._installer.root):
            self._add(found)

    async def install(self, name: str, version: str, source: str, sha256: str = "") -> Installed:
        """Install a version from a path or URL; the same content twice is no work.

        PackageError if it cannot be done, and then nothing has changed.
        """
        key = (name, version)
        async with self._busy[key]:
            found = self._installed.get(key)
            here = found is not None and found.folder.is_dir()
            if found is not None and here and sha256 and same(found.receipt.sha256, sha256):
                return found
            try:
                done = await _in_thread(self._installer.install, name, version, source, sha256)
            except asyncio.CancelledError:
                self._discover(name, version)  # it may have been too late to call it off
                raise
            except PackageError as error:
                if key not in self._installed:
                    self._failed[key] = str(error)
                raise
            self._failed.pop(key, None)
            if found is not None and here and found.receipt == done.receipt:
                return found  # what runs it goes on running
            self._add(done)
            log.info("installed %s@%s", name, version)
            return done

    async def uninstall(self, name: str, version: str | None = None) -> list[str]:
        """Remove a version, or all of a package; the versions that went."""
        wanted = self.versions(name) if version is None else [version]
        if not any((name, one) in self._installed for one in wanted):
            shown = name if version is None else f"{name}@{version}"
            raise PackageError(MISSING, f"{shown} is not installed on this worker")
        for one in wanted:
            async with self._busy[name, one]:
                await self._remove(name, one)
        return wanted

    def versions(self, name: str) -> list[str]:
        """The installed versions of a package, the oldest first."""
        return versions.ordered(version for found, version in self._installed if found == name)

    def rollback(self, name: str, version: str | None = None) -> str | None:
        """Which earlier version remains if `version`, or else the newest, is given up."""
        here = self.versions(name)
        if not here:
            return None
        given_up = versions.parse(version or here[-1])
        earlier = [one for one in here if versions.parse(one) < given_up]
        return earlier[-1] if earlier else None

    def get(self, name: str, version: str) -> Installed | None:
        return self._installed.get((name, version))

    def inventory(self) -> list[Inventoried]:
        """Every version this worker has, lost, or failed to install."""
        found: list[Inventoried] = []
        for (name, version), installed in self._installed.items():
            status = "installed" if installed.folder.is_dir() else "missing"
            manifest: dict[str, Any] = installed.manifest_json
            found.append(Inventoried(name=name, version=version, status=status, manifest=manifest))
        for (name, version), reason in self._failed.items():
            line = Inventoried(name=name, version=version, status="failed", reason=reason)
            found.append(line)
        return sorted(found, key=lambda line: (line.name, line.version))

    def _add(self, installed: Installed) -> None:
        self._installed[installed.key] = installed
        self.registry.add(installed.runnable(site=self._settings.site_packages))

    def _discover(self, name: str, version: str) -> None:
        if (name, version) not in self._installed:
            for found in scan(self._installer.root, f"{name}/{version}"):
                self._add(found)

    async def _remove(self, name: str, version: str) -> None:
        found = self._installed.get((name, version))
        if found is None:
            return
        self.registry.remove(name, version)  # no new call reaches a host that is to stop
        await self.stop_host(name, version)
        try:
            await _in_thread(self._installer.uninstall, found)
        except PackageError:
            if found.folder.is_dir():
                self.registry.add(found.runnable(site=self._settings.site_packages))
                raise
            log.warning("%s@%s is gone, but not all of its files", name, version, exc_info=True)
        self._installed.pop((name, version), None)
        log.info("removed %s@%s", name, version)


async def _in_thread(work: Callable[..., T], *args: Any) -> T:
    """Blocking work off the loop. If its caller is cancelled it is called off, and ends first."""
    stop = threading.Event()
    running = asyncio.ensure_future(asyncio.to_thread(work, *args, stop))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        stop.set()
        await asyncio.wait([running])
        if not running.cancelled():
            running.exception()  # it was told to stop, so that it did is no news
        raise
