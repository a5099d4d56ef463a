"""Which handlers this worker has: (package, version, type of node) → what runs it, and where."""

from pathlib import Path

import msgspec

from windlass.protocol.packages import versions
from windlass.protocol.packages.manifest import HandlerEntry, Manifest


class RunnablePackage(msgspec.Struct, frozen=True, kw_only=True):
    """An installed package version, as far as running it goes."""

    manifest: Manifest
    folder: Path
    interpreter: Path
    site: bool = False
    """Whether handlers see the packages installed beside the interpreter."""

    @property
    def key(self) -> tuple[str, str]:
        return self.manifest.name, self.manifest.version


class AdapterRegistry:
    """The handlers of all installed versions; installing and removing keep it up to date."""

    def __init__(self) -> None:
        self._runnable: dict[tuple[str, str], RunnablePackage] = {}
        self._entries: dict[tuple[str, str, str], HandlerEntry] = {}

    def add(self, runnable: RunnablePackage) -> None:
        self.remove(*runnable.key)
        self._runnable[runnable.key] = runnable
        for entry in runnable.manifest.handlers():
            self._entries[*runnable.key, entry.type] = entry

    def remove(self, package: str, version: str) -> None:
        self._runnable.pop((package, version), None)
        for key in [key for key in self._entries if key[:2] == (package, version)]:
            del self._entries[key]

    def runnable(self, package: str, version: str) -> RunnablePackage | None:
        return self._runnable.get((package, version))

    def entry(self, package: str, version: str, node_type: str) -> HandlerEntry | None:
        return self._entries.get((package, version, node_type))

    def version_of(self, package: str, version: str = "", minimum: str = "") -> str | None:
        """The exact version if it is here; else, without one, the newest from `minimum` on."""
        here = self.versions(package)
        if version:
            return version if version in here else None
        return versions.newest(here, minimum)

    def versions(self, package: str) -> list[str]:
        """The installed versions of a package, the oldest first."""
        return versions.ordered(version for name, version in self._runnable if name == package)

    def types(self) -> list[tuple[str, str, str]]:
        """Every handler there is."""
        return sorted(self._entries)
