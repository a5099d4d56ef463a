"""Orders that take their time: packages come and go, and what runs left behind is cleared away.

They are carried out beside the link, and whatever goes wrong with one is told and breaks nothing.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any, Protocol

from windlass.protocol.link import codes
from windlass.protocol.link import messages as m
from windlass.worker.link.fit import said

log = logging.getLogger(__name__)


class Commands(Protocol):
    """What carries out commands about packages and resources."""

    async def install(self, command: m.PkgInstall) -> m.PkgEvent: ...

    async def uninstall(self, command: m.PkgUninstall) -> list[m.PkgEvent]: ...

    async def release(self, scope: str) -> None: ...


class Orders:
    """The orders under way. Belongs to one event loop."""

    def __init__(self, commands: Commands, tell: Callable[[m.PkgEvent], None]) -> None:
        self._commands = commands
        self._tell = tell
        self._under_way: set[asyncio.Task[None]] = set()

    def install(self, command: m.PkgInstall) -> None:
        self._spawn(self._install(command))

    def uninstall(self, command: m.PkgUninstall) -> None:
        self._spawn(self._uninstall(command))

    def release(self, scope: str) -> None:
        self._spawn(self._release(scope))

    async def all_done(self) -> None:
        while self._under_way:
            await asyncio.wait(list(self._under_way))

    async def _install(self, command: m.PkgInstall) -> None:
        try:
            event = await self._commands.install(command)
        except Exception as error:
            log.exception("%s@%s could not be installed", command.name, command.version)
            event = _failed(command.name, command.version, "install", error)
        self._tell(event)

    async def _uninstall(self, command: m.PkgUninstall) -> None:
        try:
            events = await self._commands.uninstall(command)
        except Exception as error:
            version = command.version or "*"
            log.exception("%s@%s could not be removed", command.name, version)
            events = [_failed(command.name, version, "uninstall", error)]
        for event in events:
            self._tell(event)

    async def _release(self, scope: str) -> None:
        try:
            await self._commands.release(scope)
        except Exception:
            log.exception("what %s left behind could not be cleared away", scope)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)


def _failed(name: str, version: str, operation: str, error: Exception) -> m.PkgEvent:
    details = {"operation": operation, "message": said(str(error)), "code": codes.INTERNAL}
    return m.PkgEvent(name=name, version=version, status="failed", details=details)
