"""Package commands on the link: install, uninstall, and what is here."""

from typing import Protocol

from windlass.protocol.link import messages as m


class Packages(Protocol):
    """What the link worker needs of whatever keeps its packages."""

    async def install(self, command: m.PkgInstall) -> m.PkgEvent: ...

    async def uninstall(self, command: m.PkgUninstall) -> list[m.PkgEvent]: ...

    def release(self, scope: str) -> None:
        """Let go of what a run or session left behind."""
        ...


class NoPackages:
    """A worker that only hosts services of its own."""

    async def install(self, command: m.PkgInstall) -> m.PkgEvent:
        text = "this worker takes no packages; start it with a packages folder"
        return m.PkgEvent(
            name=command.name,
            version=command.version,
            status="failed",
            details={"operation": "install", "message": text},
        )

    async def uninstall(self, command: m.PkgUninstall) -> list[m.PkgEvent]:
        return []

    def release(self, scope: str) -> None:
        """There is nothing to let go of."""
