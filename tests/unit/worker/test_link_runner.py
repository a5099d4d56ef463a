"""A link worker on a line that breaks, or that it breaks itself."""

import asyncio
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest

from tests.unit.protocol.test_link import handshake, register
from windlass.protocol.link import messages as m
from windlass.protocol.link.envelope import Generation
from windlass.protocol.link.worker import Ready, WorkerLink
from windlass.worker.link.runner import LinkRunner
from windlass.worker.link.settings import LinkSettings
from windlass.worker.link.socket import Socket
from windlass.worker.link.tasks import Tasks

pytestmark = pytest.mark.anyio


class NoPackages:
    """Cannot install anything, and says so in its own way."""

    async def install(self, command: m.PkgInstall) -> m.PkgEvent:
        raise ValueError("not foreseen")

    async def uninstall(self, command: m.PkgUninstall) -> list[m.PkgEvent]:
        return []

    def release(self, scope: str) -> None:
        """There is nothing."""


class Well:
    def metrics(self, inflight: int, held: list[str]) -> dict[str, Any]:
        return {"inflight": inflight}


def runner_of(dial: Any, folder: Path) -> tuple[LinkRunner, WorkerLink]:
    link = WorkerLink(Generation.SECOND, "default", handshake(Generation.SECOND), register)
    tasks = Tasks([], 1, {}, lambda _: None, lambda *_: None)
    settings = LinkSettings(
        worker_id="w", url="ws://localhost/ws/worker", data_dir=folder, reconnect_first_s=0.001
    )
    return LinkRunner(settings, link, tasks, NoPackages(), Well(), dial), link


async def test_a_mistake_on_the_line_ends_the_line_and_not_the_worker(tmp_path: Path) -> None:
    dialled: list[int] = []
    again = asyncio.Event()

    def dial() -> AbstractAsyncContextManager[Socket]:
        dialled.append(1)
        if len(dialled) == 3:
            again.set()
        raise KeyError("ours")

    runner, _ = runner_of(dial, tmp_path)
    running = asyncio.ensure_future(runner.run(0))
    async with asyncio.timeout(5):
        await again.wait()
        runner.stop()
        await running


async def test_what_became_of_a_package_while_the_line_was_cut_is_told_later(
    tmp_path: Path,
) -> None:
    runner, link = runner_of(None, tmp_path)
    await runner._install(m.PkgInstall(name="kit", version="1.0.0"))
    link.ready = True
    runner._handle(Ready(resumed=True))
    frames = b"".join(link.take(0))
    assert b"biz.pkg.event" in frames
    assert b"not foreseen" in frames
    assert b"control.register" in frames
