"""A worker process: a target and its settings in, a clean end out."""

import asyncio
import contextlib
import logging
import os
import signal
from collections.abc import Callable, Coroutine, Generator
from types import FrameType
from typing import Any

import uvloop

from windlass.client.transport import Connection
from windlass.protocol.exchange import Registration
from windlass.worker.adapters.host.pages import driver_kept
from windlass.worker.calls import BlockingCalls, ServerCalls
from windlass.worker.desk import HttpDesk
from windlass.worker.lease_renewer import LeaseRenewer
from windlass.worker.leases import Leases
from windlass.worker.link.executor import ServiceExecutor
from windlass.worker.link.metrics import metrics_served
from windlass.worker.link.packages import Packages
from windlass.worker.link.parameters import parameters_reader
from windlass.worker.link.serve import link_runner
from windlass.worker.link.settings import LinkSettings
from windlass.worker.pull import PullLoop
from windlass.worker.pull_state import PullState
from windlass.worker.push import PushServer
from windlass.worker.registry import Worker
from windlass.worker.runtime import Runtime
from windlass.worker.settings import WorkerSettings, meta

log = logging.getLogger(__name__)


def serve(worker: Worker, settings: WorkerSettings) -> bool:
    """Run until a signal ends it; false if handlers were still running then."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(_run(worker, settings))


async def _run(worker: Worker, settings: WorkerSettings) -> bool:
    async with driver_kept():
        return await _RUN[settings.mode](worker, settings)


def pull_loop(worker: Worker, runtime: Runtime, settings: WorkerSettings) -> PullLoop:
    """Everything a pull worker needs, put together."""
    registration = Registration(
        id=settings.id,
        transport="pull",
        services=sorted(worker.services),
        capacity=settings.concurrency,
        meta=dict(meta()),
    )
    leases = Leases()
    blocking = BlockingCalls(settings.server, settings.token, registration, settings.tls_ca)
    renewer = LeaseRenewer(blocking, leases, registration.services, lambda: runtime.load)
    main, side = (
        ServerCalls(Connection(settings.server, settings.token, settings.tls_ca), registration)
        for _ in range(2)
    )
    state = PullState(runtime, leases, desk=HttpDesk(settings))
    return PullLoop(main, side, state, renewer)


async def run_pull(worker: Worker, settings: WorkerSettings) -> bool:
    """Pull work until a signal; false if handlers were still running then."""
    runtime = Runtime(worker, settings.concurrency)
    loop = pull_loop(worker, runtime, settings)
    log.info("worker %s pulls from %s", settings.id, settings.server)
    with stopped_by_signals(loop.stop):
        await loop.run(settings.drain_s)
    runtime.close()
    return runtime.load == 0


async def run_push(worker: Worker, settings: WorkerSettings) -> bool:
    """Serve calls until a signal; false if handlers were still running then."""
    runtime = Runtime(worker, settings.concurrency)
    server = PushServer(worker, runtime, settings)
    with stopped_by_signals(server.stop):
        await server.run()
    runtime.close()
    return runtime.load == 0


async def run_link(worker: Worker, settings: WorkerSettings) -> bool:
    """Work on a live link until a signal."""
    assert settings.link is not None
    link = settings.link.bounded(worker.caps)
    read = parameters_reader(link)
    desk = link_desk(link)
    services = ServiceExecutor(worker, settings.concurrency, read, desk)
    packages = Packages(link, desk)
    runner = link_runner(link, [services], packages)
    log.info("worker %s links to %s", link.worker_id, link.url)
    try:
        async with metrics_served(link.metrics_port, runner.metrics):
            with stopped_by_signals(runner.stop):
                await runner.run(settings.drain_s)
    finally:
        await services.close()
        await packages.close()
    return True


def link_desk(settings: LinkSettings) -> HttpDesk:
    """Where attempts on the link reach what is not on it: beside the link, over HTTP."""
    own = WorkerSettings(server=settings.server, id=settings.worker_id, token=settings.token)
    return HttpDesk(own, tls=settings.ssl_context())


_RUN: dict[str, Callable[[Worker, WorkerSettings], Coroutine[Any, Any, bool]]] = {
    "pull": run_pull,
    "push": run_push,
    "link": run_link,
}


@contextlib.contextmanager
def stopped_by_signals(stop: Callable[[], None]) -> Generator[None]:
    """The first SIGTERM or SIGINT calls `stop` on the loop; a second ends the process at once.

    Plain signal handlers rather than the loop's: a second signal must work although a handler
    blocks the loop. That is when people press Ctrl-C twice.
    """
    loop = asyncio.get_running_loop()
    seen: list[int] = []

    def on_signal(number: int, _frame: FrameType | None) -> None:
        if seen:
            os._exit(128 + number)
        seen.append(number)
        loop.call_soon_threadsafe(stop)

    numbers = (signal.SIGTERM, signal.SIGINT)
    before = [signal.signal(number, on_signal) for number in numbers]
    try:
        yield
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)
